// A stop request that takes effect between two steps.

#include <exception>
#include <new>
#include <stop_token>
#include <string>
#include <utility>

#include "async/scope_registry.hpp"
#include "base/text/seconds_text.hpp"
#include "leat/async/scheduler.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "train/supervisor/supervisor_state.hpp"

namespace leat {

bool supervisor::stopped() const noexcept { return state_->was_stopped; }

void supervisor::request_stop(std::exception_ptr error) { coord_.request_stop(std::move(error)); }

// A body, or a service, that requests a stop has finished by itself.
void supervisor::record_body_request() noexcept {
  const task_context* const caller = scheduler::current_task();
  if (!caller || &caller->get_scheduler() != state_->sched.load()) return;
  if (!state_->running || state_->is_stopping()) return;
  if (&caller->scope() == &coord_) state_->body_requested_stop = true;
  const task_id body{state_->running->number(), 1};
  if (detail::scope_registry::is_within(*caller, body, 0)) state_->body_requested_stop = true;
}

void supervisor::request_stop_after_step() noexcept {
  if (state_->stop_wanted) return;
  record_body_request();
  state_->stop_wanted = true;
  state_->start_stop_source.request_stop();
  if (!state_->prepared || !state_->is_ready) return;  // run_until_stop() does not start the body
  const bool is_limited = state_->in_step() && limit_steps();
  if (!is_limited) coord_.request_stop();
}

// Returns false if there is no memory for a limit: a step must not delay the stop indefinitely.
bool supervisor::limit_steps() noexcept {
  if (std::exchange(state_->step_is_limited, true)) return true;
  try {
    if (state_->limit) {
      state_->limit->spawn_on(*state_->sched.load(), limit_last_step(), "limit of the last step");
    } else {
      coord_.spawn(limit_last_step(), "limit of the last step");
    }
  } catch (...) {
    state_->step_is_late = true;
    return false;
  }
  return true;
}

// The stop request follows when the steps of other tasks have finished.
task<void> supervisor::stop_before_step() {
  co_await detail::wait_while([p = state_.get()] { return p->in_step(); }, state_->all_steps_ended);
  // The error of a step that was not completed comes first.
  if (!state_->broken) coord_.request_stop();
  throw failure(errc::cancelled, options_.name + ": stopped before a step");
}

// Ends the step, unless it finishes first.
task<void> supervisor::limit_last_step() {
  try {
    co_await sleep_for(options_.step_grace);
  } catch (const std::bad_alloc&) {  // then at once: a step must not delay the stop indefinitely
  }
  if (!state_->in_step()) co_return;
  state_->step_is_late = true;
  coord_.request_stop();
  if (state_->running) state_->running->request_stop();
  state_->body_step_ended.set();
  warn("current step did not finish within " + detail::seconds_text(options_.step_grace) +
       " s after the stop request (step_grace) and is cancelled");
}

// A step ends within step_grace, unless it is the one that waits here. One frame: see stop_now().
task<void> supervisor::wait_for_body_step() {
  while (state_->running && state_->in_step() && !state_->step_is_late) {
    state_->body_step_ended.reset();
    co_await state_->body_step_ended.wait();
  }
}

bool supervisor::has_failed() const noexcept {
  try {
    coord_.raise_requested_exception();
  } catch (...) {
    return true;
  }
  return false;
}

// Called after a stop request, here or on another thread. Cancels the body immediately unless it is
// in a step; then notify_step_end() cancels it.
void supervisor::stop_body() noexcept {
  if (!state_->running) return;
  state_->stop_pending = true;
  const bool waits = state_->in_step() && !state_->step_is_late && !has_failed() && limit_steps();
  if (!waits) state_->running->request_stop();
}

task<void> supervisor::stop_body_task(bool by_owner) {
  if (by_owner || !state_->stopping) stop_body();
  co_return;
}

task<void> supervisor::run_until_stop(task<void> body) {
  state_->was_stopped = state_->stop_wanted || !state_->prepared;
  if (state_->was_stopped) co_return;  // during the start
  scheduler& sched = this_task::get_scheduler();
  const std::stop_token owner = this_task::get_stop_token();
  task_group group(shielded, options_.name + " body");
  task_group limit(shielded, options_.name + " last step");
  std::exception_ptr error;
  {
    group.spawn(std::move(body), "body");
    const state::body_groups here(*state_, group, limit);
    // Between two waits of the body: no element may begin in a task that is being stopped.
    const auto stop = [this, &group, &limit, &sched](bool by_owner) noexcept {
      // The body continues after a stop() of its own, but not after one of its owner.
      if (!by_owner && state_->stopping) return;
      if (scheduler::current() == &sched) return stop_body();
      try {
        limit.spawn_on(sched, stop_body_task(by_owner), "stop of the body");
      } catch (...) {  // no memory
        group.request_stop();
      }
    };
    const std::stop_callback by_coordinator(coord_.get_stop_token(), [&] {
      record_body_request();
      stop(false);
    });
    const std::stop_callback by_owner(owner, [&] { stop(true); });
    try {
      co_await group.join();
    } catch (...) {
      error = std::current_exception();
    }
  }
  state_->body_step_ended.set();
  limit.request_stop();
  try {
    co_await limit.join();
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  // A body with its own task group may continue after a stop, and return.
  const bool was_asked = state_->stop_wanted || state_->stop_pending;
  const bool has_ended_badly = error && to_error_code(error) != errc::cancelled;
  const bool by_program = state_->body_requested_stop || coord_.stopped_by_clean_error();
  state_->was_stopped = was_asked && !by_program && !has_ended_badly && !has_failed();
  if (!state_->prepared) {  // a stop() has ended before the body did
    state_->stop_wanted = false;
    state_->forget_stop();
  }
  if (error) std::rethrow_exception(error);
  const bool stopped = this_task::stop_requested();
  if (state_->was_stopped && stopped) throw failure(errc::cancelled, options_.name);
}

}  // namespace leat
