#include "leat/async/blocking/detail/blocking_call.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

#include "async/blocking/blocking_threads.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "base/internal/standard_error.hpp"
#include "base/internal/thread_not_started.hpp"
#include "leat/async/blocking/internal/blocking_calls.hpp"
#include "leat/async/detail/task_local_node.hpp"
#include "leat/async/dump/dump.hpp"
#include "leat/async/loop/internal/event_loop_scheduler.hpp"
#include "leat/async/wait_target.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {

// The call, with its function and result, lives in the frame of the coroutine that waits for it.
// Until a thread of the pool has posted it, the pool uses that memory. A stop or a lost select
// therefore withdraws a call that still waits for a thread, but can only ask a running function to
// end, and the coroutine waits for that. leave() releases what submit() has taken: the entry in the
// list of the scheduler, the use of the threads and the hold of the scheduler.

const wait_operation::kind blocking_call::call_kind{
    "run_blocking", &blocking_call::cancel, &blocking_call::describe, &blocking_call::inspect};

// ------------------------------------------------------------------------------------- the start

void blocking_call::submit() {
  blocking_calls* const calls = blocking_calls::of(*scheduler_);
  const bool is_simulated = scheduler_->is_simulated();
  if (!is_simulated) threads_ = &(pool_ ? *pool_ : default_blocking_pool()).threads();
  run_ = is_simulated ? &run_without_pool : &finish;
  locals_ = current_task_locals();
  calls_ = calls;
  if (calls_) calls_->add(*this);
  if (!task()) {
    has_hold_ = true;
    scheduler_->add_hold();
  }
  // Relaxed: the lock of the pool, or the post, publishes it.
  state_.store(state::waiting, std::memory_order_relaxed);
  if (is_simulated) {
    if (!calls_ || !calls_->take(*this)) scheduler_->post(*this);
    return;
  }
  threads_->add_user();
  if (threads_->submit(*this)) return;
  set_not_called();
  leave();
  throw failure(errc::resource_exhausted, thread_not_started("run_blocking: a thread"));
}

// The function sees the task-local values of its task.
void blocking_call::call_function() noexcept {
  const borrowed_task_locals borrowed(locals_);
  invoke_(*this);
}

// --------------------------------------------------------------------------------------- the end

// On the scheduler: the call is over.
void blocking_call::leave() noexcept {
  if (calls_) std::exchange(calls_, nullptr)->remove(*this);
  if (threads_) std::exchange(threads_, nullptr)->release();
  if (std::exchange(has_hold_, false)) scheduler_->remove_hold();
}

// Posted by the thread that has called the function.
void blocking_call::finish(work_item& item) noexcept {
  auto& self = static_cast<blocking_call&>(static_cast<wait_operation&>(item));
  self.state_.store(state::over, std::memory_order_relaxed);
  self.leave();
  if (self.end_in_select()) return;
  if (self.scheduler_->is_ending()) {
    self.drop_wakeup();
  } else {
    self.resume_now();
  }
}

// In a simulation, posted in place of a call of a thread.
void blocking_call::run_without_pool(work_item& item) noexcept {
  auto& self = static_cast<blocking_call&>(static_cast<wait_operation&>(item));
  if (!self.not_called_) self.call_function();
  finish(item);
}

bool blocking_call::withdraw() noexcept {
  if (threads_) return threads_->withdraw(*this);
  return is_waiting() && calls_ && calls_->drop(*this);
}

void blocking_call::request_end() noexcept {
  if (current_state() == state::over || std::exchange(end_requested_, true)) return;
  end_requested_at_ = std::chrono::steady_clock::now();
  if (withdraw()) {
    set_not_called();
    leave();
    ended();
  } else if (!threads_ && is_waiting()) {
    not_called_ = true;  // it is posted
  } else {
    stop_.request_stop();
  }
}

void blocking_call::cancel(wait_operation& w) noexcept {
  static_cast<blocking_call&>(w).request_end();
}

// The coroutine is destroyed, usually with its scheduler. The function uses this memory until it
// has returned.
void blocking_call::end_slowly() noexcept {
  if (current_state() == state::over) {
    withdraw_wakeup();
    return;
  }
  if (threads_ && !threads_->is_in_its_process()) return;  // the child has no thread that runs it
  wakes_select_ = false;
  if (!std::exchange(end_requested_, true)) end_requested_at_ = std::chrono::steady_clock::now();
  if (withdraw()) {
    leave();
    return;
  }
  if (!scheduler_->is_ending()) {
    // A coroutine of another library may only be destroyed once the function has returned; its
    // wake-up is on its way. In a simulation, the posted item may be a call that has not begun; it
    // is withdrawn.
    const bool is_posted_call = !threads_ && is_waiting();
    // acquire: the result of the function is destroyed here.
    LEAT_ASSERT(is_posted_call || state_.load(std::memory_order_acquire) == state::returned,
                "coroutine destroyed while a function of run_blocking() uses its frame: let the "
                "function return first");
    withdraw_wakeup();
    leave();
    return;
  }
  stop_.request_stop();
  constexpr auto longest = std::chrono::milliseconds(1);
  constexpr auto patience = std::chrono::seconds(10);
  bool is_printed = false;
  auto pause = std::chrono::microseconds(20);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    scheduler_->run_posted_items();
    if (current_state() == state::over) return;
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, longest);
    if (is_printed || std::chrono::steady_clock::now() - begin < patience) continue;
    is_printed = true;
    print_late();
  }
}

void blocking_call::print_late() const noexcept {
  try {
    const std::string task = this->task() ? name_of(*this->task()) : "a coroutine";
    print_stderr(
        "leat: %s is destroyed with its scheduler and waits for the function of "
        "run_blocking() at %s, which was asked to stop 10 s ago\n",
        task.c_str(), to_text(where()).c_str());
  } catch (...) {  // no memory
    write_stderr("leat: a destroyed scheduler waits for a function of run_blocking()\n");
  }
}

// ------------------------------------------------------------------------------------ the result

bool blocking_call::was_cancelled() const noexcept {
  return end_requested_ && exception_ && to_error_code(exception_) == errc::cancelled;
}

std::error_code blocking_call::error_code() const noexcept {
  if (not_called_ || was_cancelled()) return end_code();
  return exception_ ? to_error_code(exception_) : std::error_code();
}

void blocking_call::rethrow_error() {
  if (not_called_) {
    throw failure(end_code(), "run_blocking: the function was not called" + end_text());
  }
  if (!exception_) return;
  if (was_cancelled()) {
    throw failure(end_code(), "run_blocking: the function ended early" + end_text());
  }
  std::rethrow_exception(std::exchange(exception_, nullptr));
}

// -------------------------------------------------------------------------------------- in words

void blocking_call::describe(const wait_operation& w, std::ostream& out) {
  const auto& self = static_cast<const blocking_call&>(w);
  if (self.threads_) {
    self.threads_->describe(self, out);
  } else {
    out << (self.is_waiting() ? "(waits for a thread)" : "(running)");
  }
}

void blocking_call::inspect(const wait_operation& w, wait_target& target) {
  const auto& self = static_cast<const blocking_call&>(w);
  target.type = "blocking pool";
  if (self.threads_) target.name = self.threads_->name();  // the pool may be gone
}

// ------------------------------------------------------------------------ the calls of a scheduler

bool blocking_calls::take(blocking_call&) noexcept { return false; }

bool blocking_calls::drop(blocking_call&) noexcept { return false; }

void blocking_calls::add(blocking_call& call) noexcept {
  call.previous_here_ = nullptr;
  call.following_here_ = first_;
  if (first_) first_->previous_here_ = &call;
  first_ = &call;
}

void blocking_calls::remove(blocking_call& call) noexcept {
  (call.previous_here_ ? call.previous_here_->following_here_ : first_) = call.following_here_;
  if (call.following_here_) call.following_here_->previous_here_ = call.previous_here_;
}

void blocking_calls::request_end() noexcept {
  for (blocking_call* call = first_; call;) {
    std::exchange(call, call->following_here_)->request_end();
  }
}

namespace {

void request_end_of_calls(blocking_calls& calls, scheduler&) noexcept { calls.request_end(); }

}  // namespace

const service_key blocking_calls::key;

blocking_calls* blocking_calls::of(scheduler& s) {
  if (auto* const calls = s.find_service<blocking_calls>()) return calls;
  auto* const loop = dynamic_cast<event_loop_scheduler*>(&s);
  if (!loop) return nullptr;
  loop->own_service<&request_end_of_calls>(std::make_shared<blocking_calls>());
  return s.find_service<blocking_calls>();
}

}  // namespace LEAT::detail
