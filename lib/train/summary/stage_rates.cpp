#include "leat/train/summary/stage_rates.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/internal/unique_names.hpp"

namespace LEAT {

stage_rates::counters stage_rates::read(const stage_metrics& m, time_point now) noexcept {
  return {m.records(), m.bytes(), m.waited_for_input(now), m.waited_for_output(now)};
}

stage_rates::stage_rates(std::span<const stage_metrics* const> stages, time_point now)
    : time_(now) {
  detail::unique_names names;
  for (const stage_metrics* const m : stages) {
    stages_.push_back({m, names.of(m->name()), read(*m, now)});
  }
}

summary stage_rates::sample(time_point now) {
  const double seconds = std::chrono::duration<double>(now - std::exchange(time_, now)).count();
  summary s;
  for (stage& one : stages_) {
    const counters current = read(*one.metrics, now);
    const counters before = std::exchange(one.last, current);
    const auto add = [&](const char* what, double value) {
      s.add_scalar(one.name + "/" + what, value);
    };
    const auto rate = [&](std::uint64_t count) {
      return seconds > 0 ? static_cast<double>(count) / seconds : 0;
    };
    // A wait is counted at its end and also while it lasts, so that a share can be slightly above 1
    // if it is read in between.
    const auto share = [&](duration d) {
      const double of_all = seconds * static_cast<double>(one.metrics->tasks());
      const double waited = std::chrono::duration<double>(d).count();
      return of_all > 0 ? std::clamp(waited / of_all, 0.0, 1.0) : 0;
    };
    add("records_per_second", rate(current.records - before.records));
    add("bytes_per_second", rate(current.bytes - before.bytes));
    add("waiting_for_input", share(current.input - before.input));
    add("waiting_for_room", share(current.room - before.room));
  }
  return s;
}

}  // namespace LEAT
