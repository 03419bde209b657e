#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "leat/base/clock.hpp"
#include "leat/codec/event/event.hpp"

namespace LEAT {

/// The number of training steps per second, as a scalar: "global_step/sec".
///
///     leat::step_rate rate(scheduler.now(), step);
///     ... each two minutes:
///     co_await writer.add_summary(rate.sample(scheduler.now(), step), step);
///
/// Thread safety: thread-compatible. TensorFlow: SVStepCounterThread.
class step_rate {
 public:
  /// Starts to count. `name` is the name of the step, to which "/sec" is appended.
  step_rate(time_point now, std::int64_t step, std::string name = "global_step")
      : tag_(std::move(name) + "/sec"), time_(now), step_(step) {}

  /// Returns the steps since the last sample divided by the seconds since then; infinity for steps
  /// in no time.
  [[nodiscard]] summary sample(time_point now, std::int64_t step);

 private:
  std::string tag_;
  time_point time_;
  std::int64_t step_;
};

}  // namespace LEAT
