#pragma once

#include <cstdint>
#include <string_view>

#include "leat/async/task.hpp"
#include "leat/train/monitored/run_context.hpp"

namespace leat {

/// Something that a monitored_session calls around each run, and at its beginning and end.
///
///     class my_hook : public leat::session_hook {
///       leat::task<void> after_run(leat::run_context& run) override {
///         if (run.results().get<double>("loss") < 0.01) run.request_stop();
///         co_return;
///       }
///     };
///
/// What a hook throws is an error of the run, or of the session where there is none. function_hook
/// makes one of functions. A hook belongs to one session at a time.
///
/// Thread safety: thread-bound to the scheduler of the session, which calls one at a time.
/// Cancellation:  a stop at once, such as one by an error of a service, cancels what a hook waits
///                for, but not in end().
/// TensorFlow: SessionRunHook.
class session_hook {
 public:
  session_hook() = default;
  session_hook(const session_hook&) = delete;
  session_hook& operator=(const session_hook&) = delete;
  virtual ~session_hook() = default;

  /// Once, before the first session is opened: the state is not restored yet.
  [[nodiscard]] virtual task<void> begin(supervisor& sv);

  /// For each session, when its state is ready: after a failure that passes there is another one,
  /// and its step may be lower. Nothing runs: there are no inputs and results; a stop that is
  /// requested here comes before the first run.
  [[nodiscard]] virtual task<void> after_create_session(run_context& run);

  /// Before the step.
  [[nodiscard]] virtual task<void> before_run(run_context& run);

  /// Behind a step that went well, in which nothing waits any more.
  [[nodiscard]] virtual task<void> after_run(run_context& run);

  /// Once, when all went well and all tasks have ended; the state may still be saved. Not after an
  /// error. Nothing runs here either.
  [[nodiscard]] virtual task<void> end(run_context& run);

 protected:
  /// The step, for who cannot do without it. Errors: failed_precondition where steps are unknown,
  /// naming the hook.
  [[nodiscard]] static std::int64_t require_step(const supervisor& sv, std::string_view hook);
};

}  // namespace leat
