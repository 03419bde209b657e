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
#include "leat/base/detail/pimpl.hpp"
#include "leat/train/monitored/named_values.hpp"
#include "leat/train/monitored/run_context.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/supervisor/supervisor.hpp"

namespace leat {
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

/// What a monitored session looks after, and how.
struct monitored_session_options {
  /// Directories, state, sessions, runners. Its intervals, what is to be summarised and save_at_end
  /// become hooks of a chief with a directory, in the place of services. stop_grace is for tasks of
  /// the coordinator: steps, hooks and the body are waited for as long as they take.
  supervisor_options supervised = {};
  std::int64_t save_checkpoint_steps = 0;  ///< 0: in time, each supervised.save_model_interval
  std::int64_t save_summaries_steps = 0;   ///< 0: in time, each supervised.save_summaries_interval
  /// Called in this order: first those of a chief, then these, then the ones that save.
  braced<std::vector<std::shared_ptr<session_hook>>> chief_only_hooks = {};
  braced<std::vector<std::shared_ptr<session_hook>>> hooks = {};
  /// Of a run, or of a session that cannot be created: failures one after the other, without a run
  /// in between that went well and further than all before; without a global step any is further.
  retry_policy retry = {};
  duration max_wait = std::chrono::seconds(7200);  ///< of a worker for the chief
};

/// Runs a step again and again, with hooks around it, and begins anew from the last checkpoint when
/// it fails in a way that may pass.
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
/// Aborted or unavailable, from a step, a hook or a task of the coordinator: all is stopped and
/// joined, the session closed; after a delay, which grows, another one is created, its state
/// restored, and the same step run. What the step takes has to go back with the state: input that
/// is registered is opened in supervised.sessions.open. See docs/monitored_session.md.
///
/// Used once. Thread safety: request_stop() and should_stop() are thread-safe, all else is
/// thread-bound to the scheduler of open(), one operation at a time.
/// TensorFlow: tf.train.MonitoredSession and MonitoredTrainingSession; with a limit, and delays.
class monitored_session {
 public:
  /// Errors: invalid_argument for options that make no sense, or a hook that is none.
  explicit monitored_session(monitored_session_options options);
  monitored_session(const monitored_session&) = delete;
  monitored_session& operator=(const monitored_session&) = delete;
  /// Precondition: closed, if it was opened.
  ~monitored_session();

  /// Opens, runs `body` and closes on every way out. What is to be thrown is thrown when all has
  /// stopped.
  ///
  /// Body: callable with monitored_session&, or without argument, gives task<void>; lives until the
  /// end, captures and all. A stop at once, by an error of a service for one, cancels what it waits
  /// for.
  ///
  /// Errors:       those of open(), the body and close(), the first one. Of the body out_of_range,
  ///               and what else is a clean stop, is none.
  /// Cancellation: ends the body as cancelled, which is thrown in the end. Between two runs all has
  ///               ended well, and the hooks' end() is called; a step that was cut is not saved.
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

  /// Calls begin() of the hooks, creates a session and calls their after_create_session(); tries
  /// again as the policy says.
  /// Errors:       what the last attempt has failed with; nothing is open then. failed_precondition
  ///               where request_stop() came first, and in a task of the coordinator.
  /// Cancellation: as an error.
  [[nodiscard]] task<void> open();

  /// Runs a step with the hooks around it, and gives what it gives. What fails in a way that may
  /// pass is run again in another session.
  ///
  /// Step: callable with run_context&, or without argument, gives task<T>. One that throws a clean
  /// stop, out_of_range, must have changed nothing; any other error leaves a state that is not
  /// saved any more.
  ///
  /// Errors:       failed_precondition after a request to stop, "Run called even after should_stop
  ///               requested", and of a run that has waited with its token: managed() ends well
  ///               with both; when it is not open; in a task of the coordinator. Of step and hooks,
  ///               or the error of another task by which they were cancelled; those of open();
  ///               out_of_range where a stop was asked for while a session was restored.
  /// Cancellation: as the step's.
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

  /// True: no run is to come. After a request to stop, an error of another task that does not pass,
  /// and when it is not open.
  [[nodiscard]] bool should_stop() const noexcept;

  /// The run that is under way is the last; it goes on to its end, and what it saves is saved. Ends
  /// the wait for another attempt, and of a worker for the chief: open() is refused then.
  void request_stop() noexcept;

  /// Stops all and joins, calls end() of the hooks where all went well, and closes the session. All
  /// of it is done whatever fails.
  ///
  /// Errors:       failed_precondition when it is not open, and in a task of the coordinator; the
  ///               first of: what a task of the coordinator has failed with, stragglers_error,
  ///               end() of the hooks, the end of the writer. The others are secondary errors of
  ///               the coordinator. std::bad_alloc before anything was done: close it again.
  /// Cancellation: none.
  [[nodiscard]] task<void> close();

  /// With the coordinator, the writer, the step and what else a session has. To stop is up to the
  /// session: stop() of the supervisor fails with failed_precondition while it is open.
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
  // Coroutines: what a step throws that is none is an error of the task.
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

}  // namespace leat
