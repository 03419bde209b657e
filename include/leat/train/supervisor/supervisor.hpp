#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/internal/copyable_callable.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/local_types.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/queue_runner_handle.hpp"
#include "leat/train/supervisor/session.hpp"
#include "leat/train/supervisor/supervisor_options.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {
namespace detail {
struct step_in_progress;
}  // namespace detail

/// Options of supervisor::prepare_or_wait_for_session().
struct prepare_options {
  /// Whether the chief waits for a checkpoint, and initialises the state only if there is none
  /// after max_wait.
  bool wait_for_checkpoint = false;
  /// How long the chief waits for a checkpoint, or a worker for the chief.
  time_span max_wait = std::chrono::seconds(7200);
  /// After a stop request, such a wait fails with `cancelled`.
  braced<std::stop_token> stop = {};
  bool start_standard_services = true;  ///< and the queue runners
};

/// Options of supervisor::stop().
struct stop_options {
  /// Whether to close a writer that the options name. The supervisor always closes its own writer.
  bool close_summary_writer = true;
  straggler_policy stragglers = straggler_policy::fail;  ///< after the grace period
};

/// The supervisor of a training program: restores, runs, checkpoints, summarises and stops it.
///
///     leat::checkpoint_registry state("digits");
///     state.add("global_step", step);
///     state.add("weights", weights);
///     state.add("input", batches);  // a pipeline
///     leat::supervisor sv({.logdir = "runs/1", .state = &state, .stages = batches.stages()});
///     const auto body = [&]() -> leat::task<> {
///       co_await batches.for_each([&](leat::tensor_tuple batch) {
///         learn(batch, weights);
///         ++step;
///       });
///     };
///     co_await sv.managed(body);
///
/// This program can be killed at any time; when it is run again, it resumes from its last
/// checkpoint.
///
/// The services are loopers of the coordinator. They save checkpoints, and they write summaries,
/// rates of the input and steps per second. They run on the scheduler of managed(), so nothing is
/// saved while the body runs from one wait to the next.
///
/// If the state contains a pipeline, nothing is saved while a coroutine processes an element of its
/// for_each(), unless that coroutine calls save(). A stop waits for the element, at most for the
/// option step_grace; an error does not wait. Any other loop that waits in the middle of a step
/// must mark the step by step().
///
/// A supervisor has one run at a time. It can be used again after it has stopped. If its event loop
/// was destroyed before that, it can only be destroyed.
///
/// Thread safety: request_stop(), should_stop() and wait_for_stop() are thread-safe. Everything
///                else is thread-bound to the scheduler where the supervisor is prepared.
/// TensorFlow:    tf.train.Supervisor. docs/tensorflow.md lists the differences.
class supervisor {
 public:
  /// Errors: invalid_argument for invalid options, such as saver.rank_directories in a worker or
  ///         with a save_model_interval above 0, and for a worker that can never be ready because
  ///         it cannot observe the state of the chief.
  explicit supervisor(supervisor_options options);
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;
  /// Precondition: if the supervisor was prepared, it was stopped. After a stragglers_error,
  /// coord() was joined as well.
  ~supervisor();

  /// Runs `body` in a session, with all services, and stops the supervisor on every path.
  ///
  /// Body: callable with session& or without arguments; returns task<void>. It lives until
  /// managed() has finished, including its captures. A stop of the supervisor cancels the waits of
  /// the body when the current step has finished, or after the option step_grace. An error of a
  /// service cancels them immediately.
  ///
  /// Errors:       the first error of prepare_or_wait_for_session(), the body, a service, a queue
  ///               runner or any task of the coordinator. The option clean_stop_errors names errors
  ///               that are not thrown, by default out_of_range. An error of the body after a clean
  ///               stop is thrown only with the option throw_after_clean_stop. Otherwise it is in
  ///               secondary_errors(), and on_warning is called. aborted and unavailable are thrown
  ///               like other errors; see retry().
  /// Cancellation: like every stop, makes the body fail with `cancelled` after its current step.
  ///               managed() still saves the last checkpoint, and throws `cancelled` when
  ///               everything has stopped.
  template <class Body>
  [[nodiscard]] task<void> managed(Body body, prepare_options preparing = {},
                                   stop_options stopping = {}) {
    std::exception_ptr error;
    std::optional<session> opened;
    task<void> ending = end(opened, error, stopping);  // now: to stop must not depend on memory
    try {
      opened = co_await prepare_or_wait_for_session(preparing);
      co_await run_until_stop(call(body, *opened));
    } catch (...) {
      error = std::current_exception();
    }
    co_await std::move(ending);
  }

  // ---- Step by step.

  /// Clears an earlier request_stop(), makes the state ready and opens a session. The chief locks
  /// the directory, restores or creates the state, and starts the services; a worker waits until
  /// the state is ready. Then the queue runners are started.
  ///
  /// Errors: failed_precondition if another chief holds the directory, and with the reason, if the
  ///         state of the chief is not ready in the end. deadline_exceeded if that of a worker is
  ///         not ready after max_wait. invalid_argument for wait_for_checkpoint with
  ///         saver.rank_directories. Errors of the saver and of the functions in the option
  ///         sessions; system errors. Call stop() after an error as well.
  [[nodiscard]] task<session> prepare_or_wait_for_session(prepare_options options = {});

  /// Starts each of the services "summaries", "input", "steps" and "checkpoints" whose requirements
  /// are met, and returns their names. Without a directory and a writer, calls on_warning and
  /// returns an empty list.
  ///
  /// Errors: failed_precondition in a worker; errors of the event writer.
  [[nodiscard]] task<std::vector<std::string>> start_standard_services();

  /// Starts the runners of `runners`, or of the option `runners` if it is null. See
  /// queue_runner_collection::start().
  std::vector<queue_runner_handle> start_queue_runners(
      const queue_runner_collection* runners = nullptr);

  /// Starts a service that calls `body` immediately and then once per interval, on time boundaries;
  /// with interval 0, back to back. Missed calls are skipped. An error of the body stops the
  /// supervisor.
  ///
  /// Errors: those of looper().
  void loop(time_span interval, std::function<task<void>()> body, std::string_view name = "loop");

  /// Like loop() above, but for a body that can only be moved.
  template <class Body>
    requires(!std::copy_constructible<Body> && detail::returns_exactly<task<void>, Body&>)
  void loop(time_span interval, Body body, std::string_view name = "loop") {
    loop(interval, std::function<task<void>()>(detail::copyable_callable(std::move(body))), name);
  }

  /// Requests a stop and waits for the services and all other tasks and threads of the coordinator,
  /// at most for the option stop_grace. If all ended without an error, saves once more. Then writes
  /// STOP to the event file and closes the writer. A second call only waits for the first.
  ///
  /// - The body finishes its step and is then cancelled. If the body itself called stop(), it
  ///   continues.
  /// - Called within a step, stop() saves nothing and calls on_warning. Call request_stop() there
  ///   instead.
  /// - Called during the start, stop() waits until the start has ended.
  ///
  /// Errors:       failed_precondition in a task of the coordinator, such as the body of loop(), in
  ///               at_end and within the start, where stop() would wait for itself. Call
  ///               request_stop() there, or request_stop_after_step() within the start. Otherwise
  ///               the first error that was reported; stragglers_error; errors of the last
  ///               checkpoint and of the writer.
  /// Cancellation: none.
  [[nodiscard]] task<void> stop(stop_options options = {});

  /// Requests a stop of the services, of the tasks of coord() and of the body. Without an error, a
  /// body in the middle of a step is cancelled when the step has finished, or after the option
  /// step_grace; with an error it is cancelled immediately. See coordinator::request_stop().
  void request_stop(std::exception_ptr error = nullptr);

  /// Like request_stop(), but the services and the tasks of coord() continue until no step is in
  /// progress. The state after the current step is saved, as on any clean stop.
  ///
  /// - A step that has not finished after the option step_grace is cancelled, and on_warning is
  ///   called: the last checkpoint that was saved before remains the newest.
  /// - Before managed(), or while it prepares the session, the request is kept: waits for a
  ///   checkpoint or a chief end, and the body is not started.
  ///
  /// Calls after the first have no effect. stop_on_signal calls it. Thread-bound.
  void request_stop_after_step() noexcept;

  /// Returns true if a stop was requested from outside while the last run was in progress: running
  /// the program again would continue it. Returns false if the body finished by itself, if it or a
  /// task of coord() on its scheduler requested the stop, if one of them threw a clean error such
  /// as out_of_range, and if anything failed.
  [[nodiscard]] bool stopped() const noexcept;

  /// Returns true once a stop was requested; see coordinator::should_stop().
  [[nodiscard]] bool should_stop() const noexcept { return coord_.should_stop(); }
  /// See coordinator::wait_for_stop().
  [[nodiscard]] task<bool> wait_for_stop(time_span limit = duration::max()) {
    return coord_.wait_for_stop(limit);
  }

  /// A step, which lasts as long as this object lives. Nothing is saved during a step.
  ///
  /// If an exception ends the step, the step is incomplete. In that case nothing is saved until the
  /// next restore, and on_warning is called when a save is omitted.
  ///
  /// Each element that pipeline::for_each() passes to a coroutine is a step by itself, if the state
  /// contains the pipeline and step() was not called outside of an element.
  class [[nodiscard]] step_scope {
   public:
    step_scope(step_scope&& other) noexcept
        : owner_(std::exchange(other.owner_, nullptr)), exceptions_(other.exceptions_) {}
    step_scope& operator=(step_scope&&) = delete;
    ~step_scope() {
      if (owner_) owner_->end_step(std::uncaught_exceptions() > exceptions_);
    }

   private:
    friend class supervisor;
    explicit step_scope(supervisor& owner) noexcept
        : owner_(&owner), exceptions_(std::uncaught_exceptions()) {}
    supervisor* owner_;
    int exceptions_;
  };

  /// Starts a step that waits before it is complete. A checkpoint that is due is saved first. Start
  /// the step before you take its input, so that both are saved together, or neither:
  ///
  ///     for (bool more = true; more;) {
  ///       const auto here = co_await sv.step();
  ///       auto batch = co_await batches.next();
  ///       if (batch) co_await learn(*batch);  // waits
  ///       more = batch.has_value();
  ///     }
  ///
  /// Do not call it within another step(). Within an element that is a step it has no effect.
  ///
  /// Errors:       cancelled.
  /// Cancellation: total.
  [[nodiscard]] task<step_scope> step();

  /// Saves a checkpoint now, records it in the event file, and returns its path.
  ///
  /// Every event that was added before reaches the file before the checkpoint does, so after a kill
  /// no step that a checkpoint contains lacks its summaries. If the events cannot be written, the
  /// checkpoint is saved anyway, and the error of the event writer is thrown afterwards.
  ///
  /// Errors:       failed_precondition in a worker; before the supervisor is prepared; within a
  ///               step(); while an element of another task is processed; after a step that was not
  ///               completed. invalid_argument for a step below 0; errors of saver::save().
  /// Cancellation: like saver::save().
  /// Cost:         one more fsync than saver::save(), for the events.
  [[nodiscard]] task<std::string> save();

  /// Like save(), but waits until the steps that other tasks have in progress are complete. Do not
  /// call it within a step(): it would wait for that step. If a step was not completed, calls
  /// on_warning, saves nothing and returns an empty path.
  [[nodiscard]] task<std::string> save_between_steps();

  /// Writes a summary of `step`, or of the current step if it is not set.
  ///
  /// Errors: failed_precondition without a writer ("requires a summary writer") and in a worker.
  [[nodiscard]] task<void> summary_computed(summary s, std::optional<std::int64_t> step = {});
  /// Like summary_computed() above, but for a serialized summary.
  [[nodiscard]] task<void> summary_computed(std::string bytes,
                                            std::optional<std::int64_t> step = {});

  /// Calls on_warning, for a problem that is not a failure, with the supervisor's name followed by
  /// `sentence`.
  void warn(const std::string& sentence) const;

  // ---- Resolved options. In a worker, logdir and save_path are empty and the intervals are 0.

  /// Returns the coordinator of the run, which stops and joins its tasks.
  [[nodiscard]] coordinator& coord() noexcept { return coord_; }
  /// Returns true if this process is the chief; see supervisor_options::is_chief.
  [[nodiscard]] bool is_chief() const noexcept { return options_.is_chief; }
  /// Returns the directory of checkpoints and events. Empty in a worker or if there is none.
  [[nodiscard]] const std::string& logdir() const noexcept { return logdir_; }
  /// Returns DIRECTORY/BASENAME, to which the names of checkpoints add their step, or an empty
  /// string if nothing is saved.
  [[nodiscard]] const std::string& save_path() const noexcept { return save_path_; }
  /// Returns the interval between summaries, or 0 in a worker.
  [[nodiscard]] duration save_summaries_interval() const noexcept {
    return save_summaries_interval_;
  }
  /// Returns the interval between checkpoints, or 0 in a worker or if nothing is saved.
  [[nodiscard]] duration save_model_interval() const noexcept { return save_model_interval_; }
  /// Returns the number of the last completed step, or an empty optional if steps are unknown.
  [[nodiscard]] std::optional<std::int64_t> global_step() const;
  /// Returns the event writer, or null before the supervisor is prepared, or if it has neither a
  /// directory nor a writer in the options.
  [[nodiscard]] event_writer* summary_writer() noexcept;
  /// Returns the saver, or null before the supervisor is prepared or if it has no state or no
  /// logdir.
  [[nodiscard]] class saver* get_saver() noexcept;
  /// Returns the checkpoint from which the current run resumed, or an empty string if the run
  /// started from the beginning.
  [[nodiscard]] const std::string& restored_from() const noexcept { return restored_from_; }

 private:
  struct state;

  template <class Body>
  static task<void> call(Body& body, session& s) {
    if constexpr (std::is_invocable_v<Body&, session&>) {
      return body(s);
    } else {
      return body();
    }
  }

  void check() const;
  void resolve_options();
  [[nodiscard]] task<void> run_until_stop(task<void> body);
  [[nodiscard]] task<void> end(std::optional<session>& opened, const std::exception_ptr& error,
                               stop_options options);
  void warn_about_skipped();
  [[nodiscard]] saver_options forwarding_saver_options() const;
  [[nodiscard]] task<void> open_resources();
  [[nodiscard]] task<void> close_resources(bool close_writer);
  [[nodiscard]] task<void> save_periodically(bool is_first);
  [[nodiscard]] task<void> renew_lock();
  [[nodiscard]] task<void> before_write();
  [[nodiscard]] task<void> write_summaries();
  void require_saver() const;
  [[nodiscard]] task<std::string> save_snapshot(detail::step_in_progress* own);
  [[nodiscard]] task<std::string> save_and_report(const detail::step_in_progress* own);
  [[nodiscard]] task<void> write_checkpoint(std::string& path, std::optional<std::int64_t>& step,
                                            std::exception_ptr& flush_error);
  [[nodiscard]] task<void> stop_now(stop_options options, bool by_body, bool in_step);
  [[nodiscard]] task<void> finish(const bool& succeeded, task<void> closing);
  [[nodiscard]] task<void> save_at_end();
  [[nodiscard]] task<void> start_events();
  [[nodiscard]] task<void> measure_steps();
  [[nodiscard]] task<void> measure_input();
  [[nodiscard]] event_writer& require_writer();
  void end_step(bool incomplete) noexcept;

  const supervisor_options options_;
  coordinator coord_;
  detail::pimpl<state> state_;
  std::string logdir_;
  std::string save_path_;
  duration save_summaries_interval_{};
  duration save_model_interval_{};
  std::function<std::int64_t()> global_step_;
  std::string restored_from_;
};

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
