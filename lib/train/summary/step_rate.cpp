#include "leat/train/summary/step_rate.hpp"

#include <limits>
#include <utility>

namespace LEAT {

summary step_rate::sample(time_point now, std::int64_t step) {
  const std::chrono::duration<double> seconds = now - std::exchange(time_, now);
  const double steps = static_cast<double>(step) - static_cast<double>(std::exchange(step_, step));
  double rate = 0;
  if (steps != 0) {
    rate = seconds.count() > 0 ? steps / seconds.count() : std::numeric_limits<double>::infinity();
  }
  return summary().add_scalar(tag_, rate);
}

}  // namespace LEAT
