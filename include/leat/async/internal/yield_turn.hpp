#pragma once

#include <chrono>
#include <string>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// Returns true if the current turn has lasted so long that a task which computes should end it.
/// `now`: the time of the current scheduler.
[[nodiscard]] inline bool is_turn_long(time_point now) noexcept {
  constexpr duration most = std::chrono::milliseconds(5);
  return now - scheduler::current()->turn_time() >= most;
}

/// Returns true if the running task should call yield_turn(): the turn is long, or the task has
/// completed as many operations as a turn allows, of which this call is one. For loops that may
/// repeat without a wait, such as reads of a file in the page cache.
///
/// Precondition: a task is running. Cost: reads the clock.
[[nodiscard]] inline bool is_turn_over() noexcept {
  scheduler& here = *scheduler::current();
  return !here.consume_budget() || is_turn_long(here.now());
}

/// Lets every other task that is ready run first, and ends the turn, so that timers, sockets and
/// files are served too. Cancellation: none.
[[nodiscard]] task<void> yield_turn();

/// Like yield_turn(), but observes a stop. Errors: cancelled, with the message `what`, if the task
/// was asked to stop.
[[nodiscard]] task<void> yield_turn(std::string what);

}  // namespace LEAT::detail
