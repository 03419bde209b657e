#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "leat/base/clock.hpp"

namespace LEAT {

/// The interval between two executions of an action, in steps or in time.
struct step_interval {
  std::optional<std::int64_t> steps = {};  ///< number of steps
  std::optional<duration> time = {};       ///< elapsed time
};

/// A timer that determines at which steps an action is due.
///
/// The action is due at the first step for which the timer is queried, and then when the interval
/// has passed since the last execution. It is never due twice at one step.
///
/// Thread safety: thread-compatible.
/// TensorFlow: SecondOrStepTimer.
class step_timer {
 public:
  /// Creates a timer for the given interval. `who` appears in the error message.
  ///
  /// Errors: invalid_argument unless the interval has either steps or time, above 0.
  step_timer(step_interval every, std::string_view who);

  /// Returns true if the action is due at this step.
  [[nodiscard]] bool is_due(std::int64_t step, time_point now) const noexcept;

  /// Returns true if the action is due at this step; in that case it counts as executed.
  [[nodiscard]] bool take(std::int64_t step, time_point now) noexcept {
    const bool due = is_due(step, now);
    if (due) done(step, now);
    return due;
  }

  /// Records an execution of the action, with which the next interval starts.
  void done(std::int64_t step, time_point now) noexcept { last_ = {step, now}; }

  /// Resets the timer to its initial state, in which the action is due immediately.
  void reset() noexcept { last_.reset(); }

 private:
  struct moment {
    std::int64_t step;
    time_point time;
  };

  step_interval every_;
  std::optional<moment> last_;
};

}  // namespace LEAT
