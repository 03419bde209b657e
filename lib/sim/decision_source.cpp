#include "leat/sim/decision_source.hpp"

#include "leat/base/internal/assert.hpp"
#include "leat/sim/allocation_faults.hpp"

namespace LEAT::sim {

std::uint32_t decision_source::record(std::uint32_t options, std::uint32_t chosen,
                                      const char* about) {
  const allocation_faults::without_faults own;
  made_.push_back({options, chosen, about, step_});
  return chosen;
}

std::uint32_t decision_source::observe(std::uint32_t options, std::uint32_t chosen,
                                       const char* about) {
  const allocation_faults::without_faults own;
  observer_({options, chosen, about, source_->step_});
  return chosen;
}

std::uint32_t decision_source::choose(std::size_t options, const char* about) {
  LEAT_ASSERT(options >= 1 && options <= UINT32_MAX, "number of options is out of range");
  if (options == 1) return 0;
  const auto count = static_cast<std::uint32_t>(options);
  if (source_) return observe(count, source_->choose(options, about), about);
  // A script may come from a run in which this decision had more options.
  if (scripted_) return record(count, scripted() % count, about);
  return record(count, static_cast<std::uint32_t>(random_.uniform_below(count)), about);
}

bool decision_source::chance(double probability, const char* about) {
  if (probability <= 0) return false;
  if (source_) return observe(2, source_->chance(probability, about) ? 1 : 0, about) != 0;
  if (scripted_) return record(2, scripted() != 0 ? 1 : 0, about) != 0;
  constexpr double range = 18446744073709551616.0;  // 2^64
  const bool yes = static_cast<double>(random_()) < probability * range;
  return record(2, yes ? 1 : 0, about) != 0;
}

}  // namespace LEAT::sim
