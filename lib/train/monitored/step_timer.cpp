#include "leat/train/monitored/step_timer.hpp"

#include <string>

#include "leat/base/error.hpp"

namespace LEAT {

step_timer::step_timer(step_interval every, std::string_view who) : every_(every) {
  if (every.steps.has_value() == every.time.has_value()) {
    throw failure(
        errc::invalid_argument,
        std::string(who) + ": interval is ambiguous or missing: set either steps or time");
  }
  if (every.steps.value_or(1) <= 0 || every.time.value_or(duration(1)) <= duration::zero()) {
    throw failure(errc::invalid_argument,
                  std::string(who) + ": interval is not positive: set a positive interval");
  }
}

bool step_timer::is_due(std::int64_t step, time_point now) const noexcept {
  if (!last_) return true;
  if (step == last_->step) return false;
  if (every_.time) return now - last_->time >= *every_.time;
  return step - last_->step >= *every_.steps;
}

}  // namespace LEAT
