// How a scheduler ends its tasks when its driver is destroyed; see scheduler_driver::end_tasks().

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <sched.h>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "async/dump_query.hpp"
#include "async/internal/ending_together.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "async/internal/scope_registry.hpp"
#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/detail/task_local_node.hpp"
#include "leat/async/detail/wait_on_foreign_awaitable.hpp"
#include "leat/async/scheduler/scheduler_driver.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {

// The end, in the order of end_tasks():
//
// 1. ending_ is set. From here on no item starts or resumes a task.
// 2. A turn begins, so that posts need no wake(), and the wake() calls that have begun return.
// 3. The waits of coroutines of other libraries are withdrawn.
// 4. Until nothing is left, posted items run and the tasks are destroyed in batches, newest scope
//    first. A batch ends when the order may have changed.
//
// Schedulers that end together, see detail::ending_together, take each step together.
//
// A task with a pinned wait, and the tasks that may own it, are left. continue_end() repeats these
// steps when such a wait has ended, and end_pinned_tasks() requests its end and waits for it.

namespace {

// Marks the end of a pass over the ready items. A nested pass may find the mark of the outer one.
struct end_of_pass : work_item {
  end_of_pass() noexcept {
    run_ = [](work_item& item) noexcept { static_cast<end_of_pass&>(item).reached = true; };
  }
  bool reached = false;
};

}  // namespace

// ------------------------------------------------------------------------------- posted items

void wait_operation::drop(work_item&) noexcept {}

bool wait_operation::drop_resumption(work_item& item) noexcept {
  if (item.run_ != &wait_operation::resume) return false;
  item.run_ = &wait_operation::drop;
  return true;
}

void wait_operation::withdraw_wakeup() noexcept {
  LEAT_ASSERT(is_wakeup_dropped() || (scheduler_ && (!context_ || scheduler_->is_ending())),
              "task destroyed after its wait ended and before it resumed: run its scheduler first");
  while (!is_wakeup_dropped()) {
    if (scheduler_->is_ending()) {
      scheduler_->run_posted_items();
    } else if (scheduler_->withdraw(*this)) {
      drop_wakeup();
    }
    if (!is_wakeup_dropped()) ::sched_yield();  // another thread is about to post it
  }
}

// A task that was not started counts as started from here on. A stop notice has no task to cancel.
bool task_scope::drop(work_item& item) noexcept {
  if (is_start(item)) {
    scheduler& sched = *static_cast<task_context&>(item).scheduler_;
    if (item.run_ == &detail::joint_scope::start_and_then) {
      sched.post(detail::joint_scope::next_of(item));
    }
    if (item.run_ == &task_scope::start_from_elsewhere) {
      sched.task_started();
      sched.work_finished();
    }
    static_cast<task_context&>(item).set_started();
    return true;
  }
  if (item.run_ != &task_scope::run_stop_notice) return false;
  drop_stop_notice(item);
  return true;
}

bool scheduler::withdraw(work_item& item) noexcept {
  if (current_) current_->flush_wakeups();  // this turn may hold the item back
  return_held_items();
  take_remote();
  return ready_.remove(item);
}

bool scheduler::run_posted_items() noexcept {
  const bool more_can_come = complete_services();
  flush_wakeups();
  take_remote();
  end_of_pass end;
  ready_.push_back(end);
  while (!end.reached) {
    work_item& item = *ready_.pop_front();
    if (wait_operation::drop_resumption(item) || task_scope::drop(item)) continue;
    if (dying_ && detail::is_dump_query(item)) {
      ready_.push_back(item);  // a task without some of its frames cannot be inspected
    } else {
      item.run_(item);
    }
  }
  flush_wakeups();
  return more_can_come;
}

void task_scope::drop_stop_notice(work_item& item) noexcept {
  auto& self = static_cast<detail::stop_notice&>(item);
  scheduler& where = *self.sched;
  {
    const detail::biased_lock lock(self.scope->mutex_);
    self.is_posted = false;
    self.next = nullptr;
  }
  self.scope->remove_hold();
  where.remove_hold();
}

// ---------------------------------------------------------------------------------------- tasks

namespace {

std::exception_ptr destroyed_with(std::string_view what, const task_context& task) noexcept {
  try {
    return std::make_exception_ptr(failure(
        errc::cancelled, detail::name_of(task) + ": destroyed with its " + std::string(what) +
                             " before it finished: join the task first"));
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

bool task_scope::is_pinned(const task_context& c) noexcept {
  const wait_operation* const w = c.waiting();
  return w && w->is_pinned();
}

namespace {

// The scopes with the highest numbers among those that were added.
class newest_scopes {
 public:
  void add(task_scope& s) noexcept {
    if (count_ == scopes_.size()) {
      if (s.number() < scopes_.front()->number()) return;
      std::pop_heap(scopes_.data(), end(), &is_newer);
      --count_;
    }
    scopes_[count_++] = &s;
    std::push_heap(scopes_.data(), end(), &is_newer);
  }

  // The newest one first.
  [[nodiscard]] std::span<task_scope* const> sorted() noexcept {
    std::sort_heap(scopes_.data(), end(), &is_newer);
    return {scopes_.data(), count_};
  }

 private:
  static bool is_newer(const task_scope* a, const task_scope* b) noexcept {
    return a->number() > b->number();
  }
  task_scope** end() noexcept { return scopes_.data() + count_; }

  std::array<task_scope*, 512> scopes_{};
  std::size_t count_ = 0;
};

}  // namespace

// An older scope may belong to a frame that contains the scope of a pinned task, and its frames the
// memory that is in use. So tasks that are not pinned are found up to the first scope with a pinned
// task.
std::size_t task_scope::find_tasks_on(const scheduler& sched, bool pinned,
                                      std::span<task_context*> found) noexcept {
  const auto next_in = [&](task_context* c) noexcept {
    while (c && !detail::ending_together::are_one(*c->scheduler_, sched)) c = c->following_;
    return c;
  };
  const detail::scope_registry::lock_all locked;
  newest_scopes newest;
  locked.each([&](task_scope& s) {
    const detail::biased_lock lock(s.mutex_);
    if (next_in(s.children_)) newest.add(s);
  });
  std::size_t count = 0;
  for (task_scope* const s : newest.sorted()) {
    const detail::biased_lock lock(s->mutex_);
    bool has_pinned = false;
    for (task_context* c = next_in(s->children_); c; c = next_in(c->following_)) {
      const bool is_pinned_task = is_pinned(*c);
      has_pinned = has_pinned || is_pinned_task;
      if (is_pinned_task != pinned) continue;
      if (count == found.size()) return count;
      found[count++] = c;
    }
    if (has_pinned && !pinned) break;
  }
  return count;
}

// A scope that a frame contains is newer than the scope of its task, so tasks are destroyed before
// the frame that owns them. No lock is held, since destructors are user code; the tasks that were
// found stay, since tasks of these schedulers end on this thread only.
bool scheduler_driver::destroy_task_batch(std::string_view what) noexcept {
  scheduler_driver* const self = this;
  const auto all = detail::ending_together::with(self);
  const auto run_all = [&]() noexcept {
    for (scheduler_driver* const s : all) {
      current_ = s;
      s->run_posted_items();
    }
  };
  const auto count_all = [&]() noexcept {
    std::size_t sum = 0;
    for (const scheduler_driver* const s : all) sum += s->tasks_;
    return sum;
  };
  std::array<task_context*, 512> found{};
  const std::size_t count = task_scope::find_tasks_on(*this, false, found);
  bool is_order_known = true;  // a task that has started meanwhile may have to be destroyed first
  const task_scope* scope = nullptr;
  for (std::size_t i = 0; i < count && is_order_known; ++i) {
    task_context& c = *found[i];
    if (std::exchange(scope, c.scope_) != c.scope_ && i > 0) {
      // A frame of an older scope may own the last one, which a notice of its stop may hold.
      // tasks_ changes if a posted item has started a task, whose scope may be newer.
      const std::size_t known = count_all();
      run_all();
      if (count_all() != known) return true;
    }
    auto& its = static_cast<scheduler_driver&>(*c.scheduler_);
    current_ = &its;
    std::exception_ptr error = destroyed_with(what, c);
    while (c.run_) {  // spawned by another thread, which is about to post it
      is_order_known = false;
      its.run_posted_items();
      if (c.run_) ::sched_yield();
    }
    const std::size_t before = count_all();
    its.dying_ = &c;
    {
      const detail::borrowed_task_locals for_destructors(c.locals());
      // The outermost frame owns, directly or indirectly, the frames of all tasks that it awaits.
      task_scope::outermost(c).coroutine().destroy();
    }
    its.dying_ = nullptr;
    c.innermost_ = nullptr;
    c.set_waiting(nullptr);
    if (its.hooks_) its.report_destroyed(c, error);
    is_order_known = is_order_known && count_all() == before;
    task_scope::leave(c, std::move(error));
  }
  return count > 0;
}

void scheduler_driver::end_tasks(std::string_view what) noexcept {
  scheduler* const here = current_;
  scheduler_driver* const self = this;
  const auto all = detail::ending_together::with(self);
  if (here) here->flush_wakeups();  // this turn may hold back the wake-up that a wait here needs
  for (scheduler_driver* const s : all) {
    LEAT_ASSERT(here != s,
                "scheduler destroyed by one of its own tasks or handlers: destroy it from outside");
    s->ending_ = true;
    s->ended_with_ = what;
    s->ending_thread_.store(&current_, std::memory_order_relaxed);
    // From here on a post needs no wake(). acquire: pairs with the release in post_remote(), so
    // that the accesses of posts that have started are over.
    s->begin_turn();
    while (s->wakes_.load(std::memory_order_acquire) != s->due_wakes_) ::sched_yield();
  }
  for (scheduler_driver* const s : all) {
    current_ = s;
    detail::wait_of_foreign_coroutine::withdraw_all(*s);
  }
  for (int patience = 10'000;;) {
    bool more_can_come = false;
    for (scheduler_driver* const s : all) {
      current_ = s;
      more_can_come = s->run_posted_items() || more_can_come;
    }
    if (destroy_task_batch(what)) continue;
    bool held = false;
    bool has_items = false;
    for (scheduler_driver* const s : all) {
      current_ = s;
      // acquire: pairs with the release of the last hold.
      held = held || s->holds_.load(std::memory_order_acquire) != 0;
      // Another thread may be about to post the wake-up of a coroutine of another library. The
      // limit is for an operation whose `cancel` does not end the wait.
      if (!detail::wait_of_foreign_coroutine::forget_ended(*s) && patience-- > 0) held = true;
      has_items = has_items || !s->ready_.empty() || s->has_remote_items() || !s->later_.empty();
    }
    held = held && more_can_come;
    if (!held && !has_items) break;
    ::sched_yield();
  }
  for (scheduler_driver* const s : all) {
    if (s->tasks_ > 0) continue;
    s->timers_.clear();  // those that are left belong to no task
    if (!detail::ending_together::contains(*s)) continue;
    s->ending_ = false;
    s->ended_with_ = {};
    s->ending_thread_.store(nullptr, std::memory_order_relaxed);
  }
  current_ = here;
}

void scheduler_driver::continue_end(scheduler& s) noexcept {
  if (!s.is_ending_here() || current_ == &s) return;
  auto& self = static_cast<scheduler_driver&>(s);
  self.end_tasks(self.ended_with_);
  if (self.tasks_ == 0) self.on_tasks_ended();
}

void scheduler_driver::end_pinned_tasks() noexcept {
  constexpr auto patience = std::chrono::seconds(10);
  const auto give_up_at = std::chrono::steady_clock::now() + patience;
  std::array<task_context*, 64> found{};
  for (;;) {
    const bool waits = detail::wait_of_foreign_coroutine::withdraw_pinned(*this);
    const bool is_late = std::chrono::steady_clock::now() > give_up_at;
    if (tasks_ == 0 && (!waits || is_late)) break;
    const std::size_t count = task_scope::find_tasks_on(*this, true, found);
    for (std::size_t i = 0; i < count; ++i) {
      wait_operation& w = *found[i]->waiting();
      if (is_late) detail::foreign_awaitable_destroyed(w, *found[i]);
      w.what().cancel(w);
    }
    end_tasks(ended_with_);
    if (tasks_ > 0 || waits) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace LEAT
