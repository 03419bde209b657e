#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/retry.hpp"
#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/local_types.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/train/monitored/named_values.hpp"
#include "leat/train/monitored/run_context.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/supervisor/supervisor.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {
namespace detail {

template <class Step>
auto call_step(Step& step, run_context& run) {
  if constexpr (std::is_invocable_v<Step&, run_context&>) {
    return step(run);
  } else {
    return step();
  }
}
template <class Step>
using step_value =
    typename decltype(call_step(std::declval<Step&>(), std::declval<run_context&>()))::value_type;

}  // namespace detail

/// Options of a monitored_session.
struct monitored_session_options {
  /// Directories, state, sessions and queue runners. In a chief with a directory, hooks replace the
  /// services: its intervals, its summaries and save_at_end become options of these hooks.
  /// stop_grace applies to tasks of the coordinator. The session waits for steps, hooks and the
  /// body without a limit.
  supervisor_options supervised = {};
  std::int64_t save_checkpoint_steps = 0;  ///< 0: each supervised.save_model_interval
  std::int64_t save_summaries_steps = 0;   ///< 0: each supervised.save_summaries_interval
  /// Hooks, called in this order: chief_only_hooks if this is the chief, `hooks`, and the hooks
  /// that write summaries and save.
  option_list<std::shared_ptr<session_hook>> chief_only_hooks = {};
  option_list<std::shared_ptr<session_hook>> hooks = {};
  /// The policy by which a failed run, or a session that could not be created, is tried again.
  /// Failures are counted until a run succeeds with a higher global step than all runs before it.
  /// Without a global step, any successful run restarts the count.
  retry_policy retry = {};
  duration max_wait = std::chrono::seconds(7200);  ///< how long a worker waits for the chief
};

/// A supervised loop of steps, with hooks around each step. After a failure that may be temporary,
/// it restarts from the last checkpoint.
///
///     leat::monitored_session s({.supervised = {.logdir = "runs/1", .state = &state},
///                                .hooks = {stop_at_100}});
///     const auto step = [&](leat::run_context& run) -> leat::task<> {
///       const auto batch = co_await input.batches->next();  // opened with each session
///       if (!batch) throw leat::failure(leat::errc::out_of_range, "no more batches");
///       run.results().add("loss", learn(*batch, weights));
///       ++global_step;
///     };
///     const auto body = [&]() -> leat::task<> {
///       while (!s.should_stop()) co_await s.run(step);
///     };
///     co_await s.managed(body);
///
/// Restart: if a step, a hook or a task of the coordinator throws `aborted` or `unavailable`, all
/// tasks are stopped and joined, and the session is closed. After a delay, which grows, another
/// session is created, its state is restored, and the same step is run. The input of a step must
/// be restored with the state: register it and open it in supervised.sessions.open. See
/// docs/monitored_session.md.
///
/// A monitored_session can be opened only once.
///
/// Thread safety: request_stop() and should_stop() are thread-safe. Everything else is thread-bound
///                to the scheduler of open(), one operation at a time.
/// TensorFlow:    tf.train.MonitoredSession and MonitoredTrainingSession. Differs from TensorFlow:
///                restarts have a limit, and delays between them.
class monitored_session {
 public:
  /// Errors: invalid_argument for invalid options, or for a null hook.
  explicit monitored_session(monitored_session_options options);
  monitored_session(const monitored_session&) = delete;
  monitored_session& operator=(const monitored_session&) = delete;
  /// Precondition: if the session was opened, it was closed.
  ~monitored_session();

  /// Opens the session, runs `body`, and closes the session on every path. An error is thrown after
  /// everything has stopped.
  ///
  /// Body: callable with monitored_session& or without arguments; returns task<void>. It lives
  /// until managed() has finished, including its captures. An immediate stop, such as one by an
  /// error of a service, cancels the waits of the body.
  ///
  /// Errors:       the first error of open(), the body and close(). Errors of the body that are a
  ///               clean stop, by default out_of_range, are not thrown.
  /// Cancellation: the body fails with `cancelled`, which is thrown after everything has stopped.
  ///               A stop between two runs counts as a success, and end() of the hooks is called.
  ///               A step that was interrupted is not saved.
  template <class Body>
  [[nodiscard]] task<void> managed(Body body) {
    std::exception_ptr error;
    task<void> ending = end(error);
    try {
      co_await open();
      co_await run_body(call(body));
    } catch (...) {
      error = std::current_exception();
    }
    co_await std::move(ending);
  }

  // ---- Step by step.

  /// Calls begin() of the hooks, creates a session, and calls after_create_session() of the hooks.
  /// The option retry says when the creation is tried again.
  ///
  /// Errors:       the error of the last attempt; the session is not open then. failed_precondition
  ///               if request_stop() ended a wait for the chief, and in a task of the coordinator.
  /// Cancellation: like an error.
  [[nodiscard]] task<void> open();

  /// Runs a step with the hooks around it, and returns the result of the step. A run that fails
  /// with an error that the option retry names is repeated in another session.
  ///
  /// Step: callable with run_context& or without arguments; returns task<T>. A step that throws a
  /// clean stop, by default out_of_range, must not have changed anything. After any other error of
  /// a step, the state is not saved any more.
  ///
  /// Errors:       failed_precondition after request_stop() ("Run called even after should_stop
  ///               requested"), and if request_stop() ended a wait of the run with its token.
  ///               managed() returns normally after these two.
  ///
  ///               failed_precondition also if the session is not open, and in a task of the
  ///               coordinator. Errors of the step and the hooks, or the error of another task that
  ///               cancelled them; errors of open(). out_of_range if a stop was requested while a
  ///               session was being restored.
  /// Cancellation: like the step.
  template <class Step>
  [[nodiscard]] task<detail::step_value<Step>> run(Step step,
                                                   named_values inputs = named_values()) {
    using value = detail::step_value<Step>;
    if constexpr (std::is_void_v<value>) {
      const step_function function = [&step](run_context& r) { return discard_result(step, r); };
      co_await run_step(function, std::move(inputs));
    } else {
      std::optional<value> result;
      const step_function function = [&](run_context& r) { return store_result(step, r, result); };
      co_await run_step(function, std::move(inputs));
      co_return std::move(*result);
    }
  }

  /// Returns true if there must not be another run: after a stop request, after a stop of the
  /// coordinator unless by an error that is retried, and if the session is neither open nor being
  /// restarted.
  [[nodiscard]] bool should_stop() const noexcept;

  /// Makes the current run the last one. The run continues to its end, including its saves. Also
  /// ends the wait before another attempt and the wait of a worker for the chief; open() fails in
  /// these two cases.
  void request_stop() noexcept;

  /// Stops and joins all tasks, calls end() of the hooks if everything succeeded, and closes the
  /// session. An error of one of these steps does not prevent the next ones.
  ///
  /// Errors:       failed_precondition if the session is not open, and in a task of the
  ///               coordinator. Otherwise the first of these errors: the error of a task of the
  ///               coordinator, stragglers_error, an error of end() of a hook, and an error of
  ///               closing the writer. The others are secondary errors of the coordinator. After a
  ///               std::bad_alloc before anything was done, call close() again.
  /// Cancellation: none.
  [[nodiscard]] task<void> close();

  /// Returns the supervisor, for example for its coordinator, its writer and its step. Only the
  /// session may stop it: stop() of the supervisor fails with failed_precondition while the session
  /// is open.
  [[nodiscard]] supervisor& get_supervisor() noexcept;

 private:
  struct state;
  using step_function = std::function<task<void>(run_context&)>;

  template <class Body>
  task<void> call(Body& body) {
    if constexpr (std::is_invocable_v<Body&, monitored_session&>) {
      return body(*this);
    } else {
      return body();
    }
  }
  // Coroutines, so that an exception of a step that is a plain function is an error of the task.
  template <class Step>
  static task<void> discard_result(Step& step, run_context& run) {
    co_await detail::call_step(step, run);
  }
  template <class Step, class Value>
  static task<void> store_result(Step& step, run_context& run, std::optional<Value>& result) {
    Value value = co_await detail::call_step(step, run);
    result.emplace(std::move(value));
  }

  [[nodiscard]] task<void> create(std::exception_ptr after);
  [[nodiscard]] task<void> create_with_retries(std::exception_ptr after);
  [[nodiscard]] task<void> begin_session();
  [[nodiscard]] task<void> recover(std::exception_ptr error);
  [[nodiscard]] task<void> pause(std::exception_ptr error);
  [[nodiscard]] task<bool> drop(std::exception_ptr why);
  [[nodiscard]] task<std::exception_ptr> stop(std::exception_ptr why);
  [[nodiscard]] task<void> run_step(const step_function& step, named_values inputs);
  [[nodiscard]] task<void> run_once(const step_function& step, named_values inputs, bool& last);
  [[nodiscard]] task<void> run_in_step_scope(const step_function& step, run_context& run);
  [[nodiscard]] task<std::exception_ptr> run_in_session(task<void> t);
  [[nodiscard]] run_context make_run_context(named_values inputs) const;
  [[nodiscard]] task<void> run_body(task<void> body);
  [[nodiscard]] task<void> end(const std::exception_ptr& error);
  [[nodiscard]] task<void> finish(std::exception_ptr error);
  [[nodiscard]] task<void> end_hooks();
  [[nodiscard]] std::exception_ptr find_cause(const std::exception_ptr& error) const;

  detail::pimpl<state> state_;
};

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
