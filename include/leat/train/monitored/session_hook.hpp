#pragma once

#include <cstdint>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/train/monitored/run_context.hpp"

namespace LEAT {

/// The base class of hooks, which a monitored_session calls around each run and at its start and
/// end.
///
///     class my_hook : public leat::session_hook {
///       leat::task<void> after_run(leat::run_context& run) override {
///         if (run.results().get<double>("loss") < 0.01) run.request_stop();
///         co_return;
///       }
///     };
///
/// To use functions instead of a class, create a function_hook. A hook belongs to one session at a
/// time.
///
/// Errors:        an exception of a hook is an error of the run or, outside of a run, of the
///                session.
/// Cancellation:  an immediate stop, such as one by an error of a service, cancels the waits of a
///                hook, except in end().
/// Thread safety: thread-bound to the scheduler of the session, which calls one hook at a time.
/// TensorFlow:    SessionRunHook.
class session_hook {
 public:
  session_hook() = default;
  session_hook(const session_hook&) = delete;
  session_hook& operator=(const session_hook&) = delete;
  virtual ~session_hook() = default;

  /// Called once, before the first session is opened. The state is not restored yet.
  [[nodiscard]] virtual task<void> begin(supervisor& sv);

  /// Called for each session when its state is ready. After a failure that is retried there is
  /// another session, whose step may be lower. No step is running, so there are no inputs and
  /// results. A stop that is requested here takes effect before the first run.
  [[nodiscard]] virtual task<void> after_create_session(run_context& run);

  /// Called before the step.
  [[nodiscard]] virtual task<void> before_run(run_context& run);

  /// Called after a step without an error, when nothing in the step waits any more.
  [[nodiscard]] virtual task<void> after_run(run_context& run);

  /// Called once, when all tasks have ended without an error and the state can still be saved. Not
  /// called after an error. No step is running here either.
  [[nodiscard]] virtual task<void> end(run_context& run);

 protected:
  /// Returns the number of the last completed step, for hooks that require it.
  ///
  /// Errors: failed_precondition, with the name of the hook, if steps are unknown.
  [[nodiscard]] static std::int64_t require_step(const supervisor& sv, std::string_view hook);
};

}  // namespace LEAT
