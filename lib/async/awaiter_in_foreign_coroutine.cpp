#include "leat/async/detail/awaiter_in_foreign_coroutine.hpp"

#include "leat/async/resume_on.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"

namespace LEAT {
namespace detail {
namespace {

// The wait whose operation this thread starts. The operation calls set_operation() when it attaches
// itself to the coroutine, which is the only moment at which the wait learns its address.
constinit thread_local wait_of_foreign_coroutine* starting = nullptr;

}  // namespace

failure no_scheduler_here() {
  return {
      errc::failed_precondition,
      "co_await on a leat operation on a thread without a scheduler: co_await "
      "leat::resume_on(scheduler) first, or use the async_ form; in a handler of an io_context, "
      "call leat::get_scheduler(io) once before"};
}

bool wait_of_foreign_coroutine::begin(std::coroutine_handle<> h) {
  coroutine_ = h;
  if (is_current()) return start_here();
  run_ = &run_start;
  starts_ = true;
  scheduler_->post(*this);
  return true;
}

bool wait_of_foreign_coroutine::start_here() {
  scheduler_->work_started();
  following_ = first(*scheduler_);
  scheduler_->waits_of_foreign_coroutines() = this;
  if (following_) following_->previous_ = this;
  waits_ = true;
  starting = this;
  bool waits = false;
  try {
    waits = start_(*this);
  } catch (...) {
    starting = nullptr;
    end();
    throw;
  }
  starting = nullptr;
  if (!waits) end();
  return waits;
}

// A scheduler that ends its tasks resumes no coroutine: the owner of the coroutine destroys it.
void wait_of_foreign_coroutine::run_start(work_item& item) noexcept {
  auto& self = static_cast<wait_of_foreign_coroutine&>(item);
  scheduler& sched = *self.scheduler_;
  self.starts_ = false;
  if (sched.is_ending()) return;
  try {
    if (self.start_here()) return;
  } catch (...) {
    self.error_ = std::current_exception();
  }
  sched.resume(self.coroutine_, nullptr);
}

void wait_of_foreign_coroutine::abandon() noexcept {
  if (std::exchange(starts_, false)) {
    static_cast<void>(scheduler_->withdraw(*this));
    return;
  }
  if (operation_) {
    // With this mark, is_dying() returns true in the destructor of the operation, which then leaves
    // its wait queue or undoes its result.
    operation_->continuation_ = &wait_operation::destroyed_mark;
    const bool may_be_posted = wait_operation::is_wakeup(*operation_);
    if (may_be_posted && scheduler_->withdraw(*operation_)) operation_->drop_wakeup();
  }
  end();
}

void wait_of_foreign_coroutine::end() noexcept {
  if (!std::exchange(waits_, false)) return;
  if (previous_) {
    previous_->following_ = following_;
  } else {
    scheduler_->waits_of_foreign_coroutines() = following_;
  }
  if (following_) following_->previous_ = previous_;
  previous_ = following_ = nullptr;
  scheduler_->work_finished();
}

void wait_of_foreign_coroutine::set_operation(wait_operation& w) noexcept {
  if (wait_of_foreign_coroutine* const self = std::exchange(starting, nullptr))
    self->operation_ = &w;
}

// A wait that has ended before ignores it. Another thread may be about to post its wake-up. An
// operation that uses its frame usually ends when its own event loop drops its handler; until then,
// its I/O object may be destroyed already.
void wait_of_foreign_coroutine::withdraw_all(scheduler& s) noexcept {
  for (wait_of_foreign_coroutine* w = first(s); w; w = w->following_) {
    wait_operation* const o = w->operation_;
    if (o && !o->is_pinned()) o->what().cancel(*o);
  }
}

bool wait_of_foreign_coroutine::withdraw_pinned(scheduler& s) noexcept {
  bool any = false;
  for (wait_of_foreign_coroutine* w = first(s); w; w = w->following_) {
    wait_operation* const o = w->operation_;
    if (!o || o->is_wakeup_dropped() || !o->is_pinned()) continue;
    o->what().cancel(*o);
    any = true;
  }
  return any;
}

bool wait_of_foreign_coroutine::forget_ended(scheduler& s) noexcept {
  bool all_ended = true;
  for (wait_of_foreign_coroutine* w = first(s); w;) {
    wait_of_foreign_coroutine& wait = *std::exchange(w, w->following_);
    const wait_operation* const o = wait.operation_;
    if (!o || o->is_wakeup_dropped()) {
      wait.end();
    } else if (!o->is_pinned()) {
      all_ended = false;
    }
  }
  return all_ended;
}

// The driver is gone: it is not told that the work has finished.
void wait_of_foreign_coroutine::forget_all(scheduler& s) noexcept {
  for (wait_of_foreign_coroutine* w = first(s); w; w = w->following_) w->waits_ = false;
  s.waits_of_foreign_coroutines() = nullptr;
}

}  // namespace detail

void resume_on_awaiter::await_suspend(std::coroutine_handle<> h) noexcept {
  coroutine_ = h;
  run_ = [](work_item& item) noexcept {
    auto& self = static_cast<resume_on_awaiter&>(item);
    if (!self.scheduler_.is_ending()) self.scheduler_.resume(self.coroutine_, nullptr);
  };
  scheduler_.post(*this);
}

}  // namespace LEAT
