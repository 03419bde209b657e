#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The phases of a run of a supervisor, in their order. Each phase is entered only from the one
/// before; after `finishing`, the supervisor is idle again.
///
/// | phase       | begins when                           | what may happen               |
/// |-------------|---------------------------------------|-------------------------------|
/// | `idle`      | the object exists, or the run is over | a stop request, for the next  |
/// |             |                                       | run                           |
/// | `starting`  | the start begins                      | the state is made ready, then |
/// |             |                                       | services start; a stop waits  |
/// | `running`   | the start is over, also with an error | steps, saves, services        |
/// | `stopping`  | stop() requests the stop              | tasks, and the last step, end |
/// | `finishing` | the tasks are joined, or stop_grace   | at_end and the last save run; |
/// |             | is over                               | resources are closed          |
///
/// A request to stop after the step, such as SIGTERM by way of stop_on_signal, changes no phase:
/// while `idle` it is kept, and the next run ends before its body. While `starting` it ends the
/// waits, and no body runs. While `running` it ends the body after its step, or after step_grace,
/// and stop() follows. Later it has no effect. See stop_request.
///
/// The body is not part of a phase: it may continue after the stop() that it has called, until the
/// supervisor is idle and longer.
enum class run_phase : unsigned char { idle, starting, running, stopping, finishing };

/// Returns true if the table permits `to` after `from`.
[[nodiscard]] constexpr bool may_follow(run_phase from, run_phase to) noexcept {
  const int next = static_cast<int>(from) + 1;
  return static_cast<int>(to) == (from == run_phase::finishing ? 0 : next);
}

}  // namespace LEAT::detail
