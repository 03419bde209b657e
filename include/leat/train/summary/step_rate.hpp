#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "leat/base/clock.hpp"
#include "leat/codec/event/event.hpp"

namespace leat {

/// How many steps a training takes in a second, as a scalar: "global_step/sec".
///
///     leat::step_rate rate(scheduler.now(), step);
///     ... each two minutes:
///     co_await writer.add_summary(rate.sample(scheduler.now(), step), step);
///
/// Thread safety: thread-compatible. TensorFlow: SVStepCounterThread.
class step_rate {
 public:
  /// Begins to count. `name`: of the step, to which "/sec" is added.
  step_rate(time_point now, std::int64_t step, std::string name = "global_step")
      : tag_(std::move(name) + "/sec"), time_(now), step_(step) {}

  /// The steps since the last sample by the seconds since then; infinite for steps in no
  /// time.
  [[nodiscard]] summary sample(time_point now, std::int64_t step);

 private:
  std::string tag_;
  time_point time_;
  std::int64_t step_;
};

}  // namespace leat
