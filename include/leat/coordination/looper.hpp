#pragma once

#include <functional>
#include <optional>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"

namespace leat {

/// What a looper does when its body has taken longer than the interval.
enum class missed_tick_policy {
  catch_up,  ///< runs the calls it has missed back to back, until it is in time again
  skip       ///< leaves them out, and goes on at the next point
};

/// When a looper runs its body, and what it does before and after.
struct looper_options {
  /// From the beginning of one call to that of the next; without one, or 0, calls are back to back.
  std::optional<time_span> interval = std::nullopt;
  missed_tick_policy missed_ticks = missed_tick_policy::catch_up;
  braced<std::function<task<void>()>> start_loop = {};  ///< run once, before the first call
  /// Run once, after the last call, also when a stop ended it; not after an error. A stop does not
  /// reach it: it may wait for what has to be done.
  braced<std::function<task<void>()>> stop_loop = {};
};

/// Runs `body` over and over, on time boundaries, until its owner is asked to stop.
///
///     coord.spawn(leat::looper([&] { return save(model); }, {.interval = 10min}), "saver");
///
/// The first call comes at once, when start_loop is over, at t; the others at t + interval,
/// t + 2 interval and so on: the time that a call takes does not add up. The clock is the
/// scheduler's, which is monotonic. In between other tasks have their turn, also back to back.
///
/// A task like any other: the coordinator knows it from spawn() on, and stops and joins it. One
/// that was made and not spawned does not exist for the coordinator.
///
/// Errors:       invalid_argument, at once, without a body or for an interval below 0. What
///               start_loop, the body or stop_loop throw ends the loop, and goes to the owner.
/// Cancellation: a stop ends the wait between two calls, and whatever the body waits for, at once.
///               When it was requested before the first call there is none; start_loop and
///               stop_loop run all the same.
/// Cost:         a timer for each call.
/// TensorFlow: tf.train.LooperThread, on a monotonic clock.
[[nodiscard]] task<void> looper(std::function<task<void>()> body, looper_options options = {});

}  // namespace leat
