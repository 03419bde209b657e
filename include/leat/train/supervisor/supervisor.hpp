#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/detail/pimpl.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/queue_runner_handle.hpp"
#include "leat/train/supervisor/session.hpp"
#include "leat/train/supervisor/supervisor_options.hpp"

namespace leat {
namespace detail {
struct step_in_progress;
}  // namespace detail

/// How a supervisor begins.
struct prepare_options {
  /// The chief waits for a checkpoint instead of initialising the state.
  bool wait_for_checkpoint = false;
  time_span max_wait = std::chrono::seconds(7200);  ///< for it, or of a worker for the chief
  braced<std::stop_token> stop = {};                ///< ends such a wait as cancelled
  bool start_standard_services = true;              ///< and the queue runners
};

/// How a supervisor ends.
struct stop_options {
  bool close_summary_writer = true;  ///< also one that was given; the own one always is
  bool ignore_live_threads = false;  ///< what has not ended after the grace is no error
};

/// Restores, runs, checkpoints, summarises and stops a program that learns.
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
/// Killed at any time and run again, it goes on from its last checkpoint.
///
/// Services are loopers of its coordinator: checkpoints, summaries, rates of the input, steps a
/// second. They run on the scheduler of managed(), so nothing is saved between two waits of the
/// body. While a coroutine processes an element of for_each(), of a pipeline in the state, nothing
/// is saved, unless the element itself calls save(). A stop waits for the element, up to the option
/// step_grace; an error does not wait. Another loop that waits in the middle of a step marks it by
/// step().
///
/// Use one at a time; it can be used again, unless its event loop was destroyed before it had
/// stopped: then it can only be destroyed. Thread safety: request_stop(), should_stop() and
/// wait_for_stop() are thread-safe, all else is thread-bound to the scheduler where it is prepared.
/// TensorFlow: tf.train.Supervisor. What is decided otherwise: docs/supervisor.md.
class supervisor {
 public:
  /// Errors: invalid_argument for options that make no sense, such as a worker that can never be
  ///         ready, since it knows of no state that the chief might make, and
  ///         saver.rank_directories of a worker, or with save_model_interval above 0.
  explicit supervisor(supervisor_options options);
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;
  /// Precondition: stopped, if it was prepared; behind a stragglers_error coord() was joined, too.
  ~supervisor();

  /// Runs `body` in a session, with all services, and stops on every way out.
  ///
  /// Body: callable with session&, or without argument, gives task<void>; lives until the end,
  /// captures and all. A stop of the supervisor cancels what the body waits for when the current
  /// step has finished, or after the option step_grace; an error of a service cancels it at once.
  ///
  /// Errors:       what comes first: of prepare_or_wait_for_session(), of the body, of a service, a
  ///               runner or any task of the coordinator. out_of_range, and what else is a clean
  ///               stop, is none; nor is an error of the body after a clean stop, which
  ///               secondary_errors() has, and on_warning is told, unless the options say that it
  ///               is thrown. aborted and unavailable leave it like others: see retry().
  /// Cancellation: ends the body as cancelled after its current step, as every stop; thrown when
  ///               all has stopped. The last checkpoint is written all the same.
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

  /// Takes back an earlier stop; the chief takes the directory, restores or makes the state, and
  /// starts the services; a worker waits until it is ready. Then the queue runners are started.
  ///
  /// Errors: failed_precondition when another chief has the directory, and as
  ///         session_manager::prepare_session() or wait_for_session(); of the system. Stop it then
  ///         all the same.
  [[nodiscard]] task<session> prepare_or_wait_for_session(prepare_options options = {});

  /// Starts those services for which there is everything: "summaries", "input", "steps",
  /// "checkpoints"; gives their names. Empty, and on_warning is told: there is no directory.
  /// Errors: failed_precondition for a worker; those of the event writer.
  [[nodiscard]] task<std::vector<std::string>> start_standard_services();

  /// Starts the runners of a collection, or of the options'. See queue_runner_collection::start().
  std::vector<queue_runner_handle> start_queue_runners(
      const queue_runner_collection* runners = nullptr);

  /// Starts a service: `body` at once and then on time boundaries; interval 0: back to back. Points
  /// that are missed are left out. An error of the body stops all. Errors: those of looper().
  void loop(time_span interval, std::function<task<void>()> body, std::string_view name = "loop");

  /// Asks all to stop, waits for the services and whatever else the coordinator has, for so long as
  /// the grace says, saves once more where all ended well, and closes the writer behind a STOP. A
  /// second stop does nothing but wait for the first. A body finishes its step and is cancelled,
  /// unless it has called this itself: then it continues. Called within a step, it saves nothing
  /// and calls on_warning; call request_stop() there instead. Called during the start, it waits
  /// until the start has ended.
  ///
  /// Errors: failed_precondition in a task of the coordinator, such as the body of loop(), in
  ///         at_end and within the start, which would wait for themselves: there call
  ///         request_stop(). The first error that was reported; stragglers_error; those of the last
  ///         checkpoint and of the writer.
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

  [[nodiscard]] bool should_stop() const noexcept { return coord_.should_stop(); }
  /// See coordinator::wait_for_stop().
  [[nodiscard]] task<bool> wait_for_stop(time_span limit = duration::max()) {
    return coord_.wait_for_stop(limit);
  }

  /// A step, as long as it lives: nothing is saved meanwhile. A step that an exception ends was not
  /// done whole: then nothing is saved any more before the next restore, and on_warning is told.
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

  /// Begins a step that waits for something before it is done; first what is due is saved. The step
  /// begins before its input is taken, so that both are saved together, or neither:
  ///
  ///     for (bool more = true; more;) {
  ///       const auto here = co_await sv.step();
  ///       auto batch = co_await batches.next();
  ///       if (batch) co_await learn(*batch);  // waits
  ///       more = batch.has_value();
  ///     }
  ///
  /// Not within another one; within an element that is a step it has no effect. Errors: cancelled.
  /// Cancellation: total.
  [[nodiscard]] task<step_scope> step();

  /// Saves now, tells the event file, and gives the path. Every event that was added before reaches
  /// the file before the checkpoint does: after a kill, no step that a checkpoint contains lacks
  /// its summaries. If the events cannot be written the checkpoint is saved all the same, and the
  /// error of the event writer is thrown afterwards. Cost: one more fsync, of the events.
  ///
  /// Errors: failed_precondition in a worker; before it is prepared; within a step(); while an
  ///         element of another task is processed; after a step that was not completed.
  ///         invalid_argument for a step below 0; those of saver::save().
  /// Cancellation: as saver::save().
  [[nodiscard]] task<std::string> save();

  /// The same when the steps of other tasks that are under way are done. Not within a step(), for
  /// whose end it would wait. Empty, and on_warning is told: a step was not done whole.
  [[nodiscard]] task<std::string> save_between_steps();

  /// Writes a summary of a step, the present one if none is given.
  /// Errors: failed_precondition without a writer: "requires a summary writer"; for a worker.
  [[nodiscard]] task<void> summary_computed(summary s, std::optional<std::int64_t> step = {});
  /// The same for a serialized one.
  [[nodiscard]] task<void> summary_computed(std::string bytes,
                                            std::optional<std::int64_t> step = {});

  /// Tells on_warning, behind the name, what is no failure.
  void warn(const std::string& sentence) const;

  // ---- What was settled; of a worker logdir and save_path are empty, and the intervals 0.

  [[nodiscard]] coordinator& coord() noexcept { return coord_; }
  [[nodiscard]] bool is_chief() const noexcept { return options_.is_chief; }
  [[nodiscard]] const std::string& logdir() const noexcept { return logdir_; }
  /// DIRECTORY/BASENAME, of which checkpoints have the name, with their step; empty: nothing is
  /// saved.
  [[nodiscard]] const std::string& save_path() const noexcept { return save_path_; }
  [[nodiscard]] duration save_summaries_interval() const noexcept {
    return save_summaries_interval_;
  }
  [[nodiscard]] duration save_model_interval() const noexcept { return save_model_interval_; }
  /// The step that was done last; none: steps are unknown.
  [[nodiscard]] std::optional<std::int64_t> global_step() const;
  /// Null before it is prepared, and without a directory.
  [[nodiscard]] event_writer* summary_writer() noexcept;
  [[nodiscard]] class saver* get_saver() noexcept;
  [[nodiscard]] session_manager& sessions() noexcept { return *sessions_; }
  /// The checkpoint from which the present run goes on; empty: from the beginning.
  [[nodiscard]] const std::string& restored_from() const noexcept { return restored_from_; }

 private:
  struct state;
  class element_steps;

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
  [[nodiscard]] task<void> wait_before_step();
  [[nodiscard]] task<void> stop_before_step();
  [[nodiscard]] task<void> wait_for_start();
  void warn_about_held_steps(duration limit);
  [[nodiscard]] task<void> limit_last_step();
  [[nodiscard]] task<void> wait_for_body_step();
  [[nodiscard]] bool has_failed() const noexcept;
  void record_body_request() noexcept;
  [[nodiscard]] bool limit_steps() noexcept;
  void stop_body() noexcept;
  [[nodiscard]] task<void> stop_body_task(bool by_owner);
  void warn_about_skipped();
  [[nodiscard]] saver_options forwarding_saver_options() const;
  [[nodiscard]] task<void> open_resources();
  [[nodiscard]] task<void> close_resources(bool close_writer);
  [[nodiscard]] task<void> save_periodically();
  [[nodiscard]] task<void> renew_lock();
  [[nodiscard]] task<void> before_write();
  [[nodiscard]] task<void> write_summaries();
  void require_saver() const;
  [[nodiscard]] task<std::string> save_snapshot(detail::step_in_progress* own);
  [[nodiscard]] task<std::string> save_exclusively(const detail::step_in_progress* own);
  [[nodiscard]] task<void> stop_now(stop_options options, bool by_body, bool in_step);
  [[nodiscard]] task<void> finish(const bool& succeeded, task<void> closing);
  [[nodiscard]] task<void> save_at_end();
  [[nodiscard]] task<void> start_events();
  [[nodiscard]] task<void> measure_steps();
  [[nodiscard]] task<void> measure_input();
  [[nodiscard]] event_writer& require_writer();
  void end_step(bool broken) noexcept;
  void notify_step_end() noexcept;

  const supervisor_options options_;
  coordinator coord_;
  std::shared_ptr<session_manager> sessions_;
  detail::pimpl<state> state_;
  std::string logdir_;
  std::string save_path_;
  duration save_summaries_interval_{};
  duration save_model_interval_{};
  std::function<std::int64_t()> global_step_;
  std::string restored_from_;
};

}  // namespace leat
