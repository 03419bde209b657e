#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "leat/async/task.hpp"
#include "leat/async/task_context.hpp"
#include "leat/base/clock.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/sync/event.hpp"
#include "train/supervisor/internal/phase_machine.hpp"
#include "train/supervisor/run_phase.hpp"
#include "train/supervisor/step_gate.hpp"

namespace LEAT::detail {

/// The options of a supervisor that its stop request uses, and the function that is called with
/// warnings.
struct stop_request_settings {
  const std::string& name;
  duration step_grace;
  std::function<void(const std::string&)> warn;
};

/// The request to stop a run: who made it, and when it takes effect.
///
/// There are two requests, which may be made in any order:
/// - *After the step*, by request_after_step(). When no step is in progress, it stops the
///   coordinator. It is kept until the end of the run, or for the next run if there is none.
/// - *Of the body*, by a stop of the coordinator, or of the task that awaits run(). When no step is
///   in progress, or immediately if the coordinator has failed, it cancels the body.
///
/// Invariants:
/// - While a request is pending, no step begins until those in progress have ended. The task that
///   tries to begin one fails with `cancelled`.
/// - A pending request has a limit as long as a step is in progress and no error has cancelled the
///   body. Once the last step is late, nothing waits for it.
/// - The body is cancelled only on its scheduler, between two of its waits.
///
/// Thread safety: thread-bound. Stops of the coordinator and of the owner may come from any thread.
class stop_request {
 public:
  stop_request(coordinator& coord, step_gate& steps, const phase_machine<run_phase>& phase,
               stop_request_settings settings)
      : coord_(coord), steps_(steps), phase_(phase), settings_(std::move(settings)) {}

  /// Called at the begin of a run. Keeps a request that was made before.
  void begin_run();
  /// Called at the end of a run. A body that continues keeps the request until it has ended.
  void end_run() noexcept;

  /// Requests a stop after the step. `is_ready`: the state has its values, so a step or a service
  /// may run; otherwise the request only ends the waits of the start.
  void request_after_step(bool is_ready) noexcept;
  /// A stop() waits for the end of the start: ends the waits of the start.
  void request_in_start() noexcept;
  /// Returns true after one of the two functions above.
  [[nodiscard]] bool is_wanted() const noexcept { return wanted_; }
  /// Returns the source that ends the waits of the start.
  [[nodiscard]] std::stop_source& start_waits() noexcept { return start_waits_; }

  /// Returns true if no step may begin: a request is pending, and at_end does not run yet.
  [[nodiscard]] bool holds_steps() const noexcept;
  /// Waits until a step may begin, as far as this request and saves are concerned.
  ///
  /// Errors: cancelled after a request, when the steps of other tasks have ended.
  [[nodiscard]] task<void> wait_before_step();
  /// Called when no step is in progress any more.
  void steps_have_ended() noexcept;

  /// Runs `body` until it ends. Cancels it after a request.
  ///
  /// Errors: those of `body`, except a `cancelled` that its stop has caused; cancelled after a stop
  ///         of the task that awaits this.
  [[nodiscard]] task<void> run(task<void> body);
  /// Returns true if `c` is the body.
  [[nodiscard]] bool is_body(const task_context& c) const noexcept;
  /// `by_body`: the body awaits the stop() that begins, and continues afterwards.
  void begin_stop(bool by_body) noexcept { by_body_ = by_body; }
  /// Waits until the body has ended its last step, or has been cancelled in it.
  [[nodiscard]] task<void> wait_for_last_step();
  /// Returns true if the last step was cancelled since it took too long.
  [[nodiscard]] bool step_is_late() const noexcept { return last_step_ == last_step::late; }

  /// Returns true if the last body was stopped from outside and did not finish by itself.
  [[nodiscard]] bool has_stopped_run() const noexcept { return has_stopped_run_; }
  /// The request has ended a wait of the start: there was no body.
  void record_stop_in_start() noexcept { has_stopped_run_ = true; }

 private:
  struct running_body;
  enum class last_step : unsigned char { unlimited, limited, late };

  void forget() noexcept;
  [[nodiscard]] bool has_failed() const noexcept;
  void record_origin() noexcept;
  [[nodiscard]] task<void> fail_before_step();
  [[nodiscard]] bool limit_last_step() noexcept;
  [[nodiscard]] task<void> end_late_step();
  void stop_body() noexcept;
  [[nodiscard]] task<void> stop_body_task(bool by_owner);

  coordinator& coord_;
  step_gate& steps_;
  const phase_machine<run_phase>& phase_;
  const stop_request_settings settings_;
  bool wanted_ = false;           // after the step
  bool pending_ = false;          // of the body
  bool by_program_ = false;       // the body or a task of the coordinator asked first
  bool has_stopped_run_ = false;  // the result of the last run
  // Atomic, like `sched_`: stop callbacks of run() read both on the thread that requests a stop.
  std::atomic<bool> by_body_ = false;  // the body awaits stop()
  last_step last_step_ = last_step::unlimited;
  running_body* body_ = nullptr;  // while it runs
  std::atomic<scheduler*> sched_ = nullptr;
  std::stop_source start_waits_{std::nostopstate};
  event steps_ended_{"end of all steps"};  // or of the body, or the last step is late
};

}  // namespace LEAT::detail
