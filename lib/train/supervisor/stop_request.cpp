#include "train/supervisor/stop_request.hpp"

#include <exception>
#include <new>
#include <utility>

#include "async/internal/scope_registry.hpp"
#include "base/text/seconds_text.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "train/supervisor/internal/requested_exception.hpp"
#include "train/supervisor/wait_while.hpp"

namespace LEAT::detail {

// The groups of the body and of the limit of its last step. Registered during its lifetime.
struct stop_request::running_body {
  explicit running_body(stop_request& owner)
      : request(owner),
        body(shielded, owner.settings_.name + " body"),
        limit(shielded, owner.settings_.name + " last step") {}
  running_body(const running_body&) = delete;
  running_body& operator=(const running_body&) = delete;
  ~running_body() { unregister(); }

  void unregister() noexcept { request.body_ = nullptr; }

  stop_request& request;
  task_group body;
  task_group limit;
};

void stop_request::begin_run() {
  if (!wanted_) start_waits_ = std::stop_source();
  sched_ = scheduler::current();
  has_stopped_run_ = false;
  const bool wanted = wanted_;
  forget();
  wanted_ = wanted;
  steps_ended_.set();
}

void stop_request::end_run() noexcept {
  by_body_ = false;
  steps_ended_.set();
  if (!body_) forget();
}

void stop_request::forget() noexcept {
  wanted_ = pending_ = by_program_ = false;
  last_step_ = last_step::unlimited;
}

bool stop_request::has_failed() const noexcept { return requested_exception(coord_) != nullptr; }

// ----------------------------------------------------------------------------------- the requests

// A body, or a service, that requests a stop has finished by itself.
void stop_request::record_origin() noexcept {
  const task_context* const caller = scheduler::current_task();
  if (!caller || &caller->get_scheduler() != sched_.load()) return;
  if (!body_ || holds_steps()) return;
  const task_id body{body_->body.number(), 1};
  if (&caller->scope() == &coord_ || scope_registry::is_within(*caller, body, 0)) {
    by_program_ = true;
  }
}

void stop_request::request_after_step(bool is_ready) noexcept {
  if (wanted_) return;
  record_origin();
  request_in_start();
  if (!is_ready) return;  // run() does not start the body
  const bool is_limited = steps_.in_step() && limit_last_step();
  if (!is_limited) coord_.request_stop();
}

void stop_request::request_in_start() noexcept {
  wanted_ = true;
  start_waits_.request_stop();
}

// In at_end, steps may begin again, unless they are those of a body that is still being stopped.
bool stop_request::holds_steps() const noexcept {
  const bool is_over = phase_.is(run_phase::finishing) && (by_body_ || !body_);
  return !is_over && (wanted_ || pending_);
}

// A save may begin while this waits for another one, and a request may come: both are checked again
// after each wait.
task<void> stop_request::wait_before_step() {
  if (holds_steps()) co_await fail_before_step();
  while (steps_.is_closed()) {
    co_await steps_.wait_until_open();
    if (holds_steps()) co_await fail_before_step();
  }
}

// The stop of the coordinator follows when the steps of other tasks have ended.
task<void> stop_request::fail_before_step() {
  co_await wait_while([this] { return steps_.in_step(); }, steps_ended_);
  // The error of a step that was not completed comes first.
  if (!steps_.has_incomplete_step()) coord_.request_stop();
  throw failure(errc::cancelled, settings_.name + ": stopped before a step");
}

void stop_request::steps_have_ended() noexcept {
  steps_ended_.set();
  if (wanted_) coord_.request_stop();
  if (pending_ && body_) body_->body.request_stop();
}

// ---------------------------------------------------------------------- the limit of the last step

// Returns false if there is no memory for a limit: a step must not delay the stop indefinitely.
bool stop_request::limit_last_step() noexcept {
  if (last_step_ != last_step::unlimited) return true;
  last_step_ = last_step::limited;
  try {
    if (body_) {
      body_->limit.spawn_on(*sched_.load(), end_late_step(), "limit of the last step");
    } else {
      coord_.spawn(end_late_step(), "limit of the last step");
    }
  } catch (...) {
    last_step_ = last_step::late;
    return false;
  }
  return true;
}

// Ends the step, unless it finishes first.
task<void> stop_request::end_late_step() {
  try {
    co_await sleep_for(settings_.step_grace);
  } catch (const std::bad_alloc&) {  // then at once: a step must not delay the stop indefinitely
  }
  if (!steps_.in_step()) co_return;
  last_step_ = last_step::late;
  coord_.request_stop();
  if (body_) body_->body.request_stop();
  steps_ended_.set();
  settings_.warn("current step did not finish within " + seconds_text(settings_.step_grace) +
                 " s after the stop request (step_grace) and is cancelled");
}

// A step ends within step_grace, unless it is the one that waits here. One frame, which the caller
// creates before the stop: see supervisor::stop_now().
task<void> stop_request::wait_for_last_step() {
  while (body_ && steps_.in_step() && !step_is_late()) {
    steps_ended_.reset();
    co_await steps_ended_.wait();
  }
}

// --------------------------------------------------------------------------------------- the body

bool stop_request::is_body(const task_context& c) const noexcept {
  return body_ && &c.scope() == &body_->body;
}

// Called after a stop request, here or on another thread. Cancels the body immediately unless it is
// in a step; then steps_have_ended() cancels it.
void stop_request::stop_body() noexcept {
  if (!body_) return;
  pending_ = true;
  const bool waits = steps_.in_step() && !step_is_late() && !has_failed() && limit_last_step();
  if (!waits) body_->body.request_stop();
}

task<void> stop_request::stop_body_task(bool by_owner) {
  if (by_owner || !by_body_) stop_body();
  co_return;
}

// Both groups are shielded: a stop of the task that awaits this reaches the body through a stop
// callback, which lets the current step finish. The callbacks run on the thread that requests the
// stop. Elsewhere than on the scheduler of the body, they spawn a task there.
task<void> stop_request::run(task<void> body) {
  has_stopped_run_ = wanted_ || phase_.is(run_phase::idle);
  if (has_stopped_run_) co_return;  // during the start
  scheduler& sched = this_task::get_scheduler();
  const std::stop_token owner = this_task::get_stop_token();
  running_body running(*this);
  std::exception_ptr error;
  {
    // The callbacks below end with this block. Their destructors wait for a call on another thread,
    // so `running.limit` receives no task after the block, and can be joined.
    running.body.spawn(std::move(body), "body");
    body_ = &running;
    // Between two waits of the body: no element may begin in a task that is being stopped.
    const auto stop = [this, &running, &sched](bool by_owner) noexcept {
      // The body continues after a stop() of its own, but not after one of its owner.
      if (!by_owner && by_body_) return;
      if (scheduler::current() == &sched) return stop_body();
      try {
        running.limit.spawn_on(sched, stop_body_task(by_owner), "stop of the body");
      } catch (...) {  // no memory
        running.body.request_stop();
      }
    };
    const std::stop_callback by_coordinator(coord_.get_stop_token(), [&] {
      record_origin();
      stop(false);
    });
    const std::stop_callback by_owner(owner, [&] { stop(true); });
    try {
      co_await running.body.join();
    } catch (...) {
      error = std::current_exception();
    }
  }
  running.unregister();
  steps_ended_.set();
  running.limit.request_stop();
  try {
    co_await running.limit.join();
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  // A body with its own task group may continue after a stop, and return.
  const bool was_asked = wanted_ || pending_;
  const bool has_ended_badly = error && to_error_code(error) != errc::cancelled;
  const bool by_program = by_program_ || coord_.stopped_by_clean_error();
  has_stopped_run_ = was_asked && !by_program && !has_ended_badly && !has_failed();
  if (phase_.is(run_phase::idle)) forget();  // a stop() has ended before the body did
  if (error) std::rethrow_exception(error);
  const bool stopped = this_task::stop_requested();
  if (has_stopped_run_ && stopped) throw failure(errc::cancelled, settings_.name);
}

}  // namespace LEAT::detail
