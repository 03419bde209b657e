#include "leat/async/detail/foreign_coroutine_awaiter.hpp"

#include "leat/async/resume_on.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"

namespace leat {
namespace detail {
namespace {

constinit thread_local foreign_coroutine_wait* starting = nullptr;

}  // namespace

failure no_scheduler_here() {
  return {
      errc::failed_precondition,
      "co_await on a leat operation on a thread without a scheduler: co_await "
      "leat::resume_on(scheduler) first, or use the async_ form; in a handler of an io_context, "
      "call leat::get_scheduler(io) once before"};
}

bool foreign_coroutine_wait::begin(std::coroutine_handle<> h) {
  coroutine_ = h;
  if (is_current()) return start_here();
  run_ = &run_start;
  starts_ = true;
  scheduler_->post(*this);
  return true;
}

bool foreign_coroutine_wait::start_here() {
  scheduler_->work_started();
  following_ = first(*scheduler_);
  scheduler_->foreign_waits() = this;
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
void foreign_coroutine_wait::run_start(work_item& item) noexcept {
  auto& self = static_cast<foreign_coroutine_wait&>(item);
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

void foreign_coroutine_wait::abandon() noexcept {
  if (std::exchange(starts_, false)) {
    static_cast<void>(scheduler_->withdraw(*this));
    return;
  }
  if (operation_) {
    operation_->continuation_ = &wait_operation::destroyed_mark;
    const bool may_be_posted = wait_operation::is_wakeup(*operation_);
    if (may_be_posted && scheduler_->withdraw(*operation_)) operation_->drop_wakeup();
  }
  end();
}

void foreign_coroutine_wait::end() noexcept {
  if (!std::exchange(waits_, false)) return;
  if (previous_) {
    previous_->following_ = following_;
  } else {
    scheduler_->foreign_waits() = following_;
  }
  if (following_) following_->previous_ = previous_;
  previous_ = following_ = nullptr;
  scheduler_->work_finished();
}

void foreign_coroutine_wait::set_operation(wait_operation& w) noexcept {
  if (foreign_coroutine_wait* const self = std::exchange(starting, nullptr)) self->operation_ = &w;
}

// A wait that has ended before ignores it. Another thread may be about to post its wake-up. An
// operation that uses its frame usually ends when its own event loop drops its handler; until then,
// its I/O object may be destroyed already.
void foreign_coroutine_wait::withdraw_all(scheduler& s) noexcept {
  for (foreign_coroutine_wait* w = first(s); w; w = w->following_) {
    wait_operation* const o = w->operation_;
    if (o && !o->is_pinned()) o->what().cancel(*o);
  }
}

bool foreign_coroutine_wait::withdraw_pinned(scheduler& s) noexcept {
  bool any = false;
  for (foreign_coroutine_wait* w = first(s); w; w = w->following_) {
    wait_operation* const o = w->operation_;
    if (!o || o->is_wakeup_dropped() || !o->is_pinned()) continue;
    o->what().cancel(*o);
    any = true;
  }
  return any;
}

bool foreign_coroutine_wait::forget_ended(scheduler& s) noexcept {
  bool all_ended = true;
  for (foreign_coroutine_wait* w = first(s); w;) {
    foreign_coroutine_wait& wait = *std::exchange(w, w->following_);
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
void foreign_coroutine_wait::forget_all(scheduler& s) noexcept {
  for (foreign_coroutine_wait* w = first(s); w; w = w->following_) w->waits_ = false;
  s.foreign_waits() = nullptr;
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

}  // namespace leat
