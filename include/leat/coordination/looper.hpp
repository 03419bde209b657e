#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <utility>

#include "leat/async/missed_tick_policy.hpp"
#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/copyable_callable.hpp"
#include "leat/base/internal/is_task.hpp"

namespace LEAT {

/// Options of a looper: when it runs its body, and what it does before and after.
struct looper_options {
  /// The time from the beginning of one call to the beginning of the next. If not set or 0, the
  /// calls are back to back.
  std::optional<time_span> interval = std::nullopt;
  /// The handling of calls that are late: `catch_up` runs them back to back, `skip` omits them.
  missed_tick_policy missed_ticks = missed_tick_policy::catch_up;
  /// Run once, before the first call. If it throws, which includes the `cancelled` of a stop, the
  /// looper ends and stop_loop does not run. start_loop must then clean up by itself.
  option_function<task<void>()> start_loop = {};
  /// Run once, after the last call, even if a stop ended the loop; not run after an error of
  /// start_loop or of a call. A stop does not cancel it, so it can wait for work that must be
  /// completed.
  option_function<task<void>()> stop_loop = {};
};

/// Runs `body` repeatedly, at fixed times, until its owner is asked to stop.
///
///     coord.spawn(leat::looper([&] { return save(model); }, {.interval = 10min}), "saver");
///
/// The first call starts at a time t, immediately after start_loop. The others start at
/// t + interval, t + 2 interval and so on: the durations of the calls do not add up. The clock is
/// the scheduler's, which is monotonic. Other tasks run between the calls, even if these are back
/// to back.
///
/// A looper is a task like any other: from spawn() on, the coordinator stops and joins it. The
/// coordinator ignores a looper that was created but not spawned.
///
/// Errors:       invalid_argument if `body` is empty or the interval is negative, thrown by
///               looper() itself. An exception from start_loop, the body or stop_loop ends the loop
///               and is passed to the owner.
/// Cancellation: a stop immediately ends the wait between two calls, and the wait of the body. If
///               it is requested before the first call, `body` is not called, but start_loop is,
///               and stop_loop after it unless the stop has ended a wait of start_loop.
/// Cost:         a timer for each call.
/// TensorFlow: tf.train.LooperThread, on a monotonic clock.
[[nodiscard]] task<void> looper(std::function<task<void>()> body, looper_options options = {});

/// Like looper() above, but for a body that can only be moved.
template <class Body>
  requires(!std::copy_constructible<Body> && detail::returns_exactly<task<void>, Body&>)
[[nodiscard]] task<void> looper(Body body, looper_options options = {}) {
  return looper(std::function<task<void>()>(detail::copyable_callable(std::move(body))),
                std::move(options));
}

}  // namespace LEAT
