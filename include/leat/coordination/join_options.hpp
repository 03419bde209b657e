#pragma once

#include <chrono>
#include <cstdint>

#include "leat/base/clock.hpp"

namespace LEAT {

/// The treatment of tasks and threads that are still running when the grace period of a join()
/// ends. `wait` and `report` print each one, with the place of its wait and the object on which it
/// waits, and the first error, to standard error.
enum class straggler_policy : std::uint8_t {
  fail,   ///< throws stragglers_error, or the first error
  wait,   ///< keeps waiting until all have finished, and then throws like `fail`
  report  ///< throws no stragglers_error; join them before the coordinator is destroyed
};

/// Options of coordinator::join().
///
///     co_await coord.join({.stop_after = 30s, .grace = 5s});  // takes 35 s at most
struct join_options {
  /// How long join() waits for tasks and threads to finish by themselves. After this time it
  /// requests a stop, without an error, and the grace period begins. In with_coordinator() the time
  /// begins with the call, and also limits the body. Default: no limit.
  time_span stop_after = duration::max();
  /// The grace period: how long tasks and threads may take to finish after a stop was requested and
  /// join() was called. Default: 120 s.
  time_span grace = std::chrono::seconds(120);
  /// The treatment of stragglers. with_coordinator() always prints them and waits for them, and
  /// throws stragglers_error unless this is `report`.
  straggler_policy stragglers = straggler_policy::fail;
};

}  // namespace LEAT
