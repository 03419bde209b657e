#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "leat/base/clock.hpp"

namespace leat {

/// From one time that something is done to the next: so many steps, or so much time.
struct step_interval {
  std::optional<std::int64_t> steps = {};
  std::optional<duration> time = {};
};

/// Says at which steps something is due: at the first of which it is asked, and then when the
/// interval has gone by since the last. Never twice at one step.
///
/// Thread safety: thread-compatible. TensorFlow: SecondOrStepTimer.
class step_timer {
 public:
  /// `who` appears in the message. Errors: invalid_argument unless the interval has either steps or
  /// time, above 0.
  step_timer(step_interval every, std::string_view who);

  /// Whether it is to be done at this step.
  [[nodiscard]] bool is_due(std::int64_t step, time_point now) const noexcept;

  /// As is_due(); true: it counts as done.
  [[nodiscard]] bool take(std::int64_t step, time_point now) noexcept {
    const bool due = is_due(step, now);
    if (due) done(step, now);
    return due;
  }

  /// It was done: the interval begins.
  void done(std::int64_t step, time_point now) noexcept { last_ = {step, now}; }

  /// As new: due at once.
  void reset() noexcept { last_.reset(); }

 private:
  struct moment {
    std::int64_t step;
    time_point time;
  };

  step_interval every_;
  std::optional<moment> last_;
};

}  // namespace leat
