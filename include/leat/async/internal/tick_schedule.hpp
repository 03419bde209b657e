#pragma once

#include "leat/async/missed_tick_policy.hpp"
#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// The times at which an interval or a looper is due: t, t + period, t + 2 period and so on.
class tick_schedule {
 public:
  tick_schedule(time_point first, duration period, missed_tick_policy policy) noexcept
      : next_(first), period_(period), policy_(policy) {}

  /// Returns the time of the next tick, which is in the past if the tick is late. With `skip`, it
  /// is the first scheduled time that is not before `now`.
  [[nodiscard]] time_point next(time_point now) noexcept {
    if (policy_ == missed_tick_policy::skip && next_ < now && period_ > duration::zero()) {
      const duration past = (now - next_) % period_;
      next_ = past == duration::zero() ? now : deadline_after(now, period_ - past);
    }
    return next_;
  }

  /// Sets the next tick to the one after `tick`.
  void advance(time_point tick) noexcept { next_ = deadline_after(tick, period_); }

 private:
  time_point next_;
  duration period_;
  missed_tick_policy policy_;
};

}  // namespace LEAT::detail
