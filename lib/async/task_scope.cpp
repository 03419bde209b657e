#include "leat/async/task_scope.hpp"
#include "leat/async/condition_wait.hpp"

#include <array>
#include <cstring>
#include <ostream>
#include <string>
#include <utility>

#include "async/live_tasks_text.hpp"
#include "async/scope_registry.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/detail/thread_record.hpp"
#include "leat/async/task.hpp"
#include "leat/base/detail/assert.hpp"
#include "leat/base/detail/parker.hpp"
#include "leat/base/error.hpp"

namespace leat {

// ----------------------------------------------------------------------------- task_context

inline task_context::task_context(scheduler& s, task_scope& scope, std::string_view name,
                                  const std::source_location& spawned_at)
    : scheduler_(&s), scope_(&scope), spawned_at_(spawned_at) {
  if (name.empty()) return;
  name_ = detail::pimpl<char[]>(new char[name.size() + 1]());
  std::memcpy(name_.get(), name.data(), name.size());
}

std::exception_ptr detail::promise_base::error() const noexcept { return error_; }

void detail::promise_base::finished_root() noexcept {
  // Not inside the coroutine's own suspension: finish() destroys the frame.
  context_->get_scheduler().finish_after_suspend(*context_);
}

// --------------------------------------------------------------------- stop, from scope to task

// Walks the scope's tasks of one scheduler, on that scheduler's thread, in batches. A batch ends
// while its memory is still in the cache, and other tasks run between two batches.
struct task_scope::stop_notice : work_item {
  stop_notice(task_scope& sc, scheduler& s) noexcept : scope(sc), sched(s) {
    run_ = &task_scope::run_stop_notice;
  }

  // Continues at `c`, or at the first later task of this scheduler. Such a task ends on this
  // thread, and finish() then advances to the next one.
  void set_next(task_context* c) noexcept {
    while (c && c->scheduler_ != &sched) c = c->following_;
    next = c;
  }

  task_scope& scope;
  scheduler& sched;  // may be gone when `tasks` is 0
  // All guarded by the scope's mutex. If a stop is cleared and requested again while a notice is
  // being delivered, the notice serves the second request: it cannot be in a run queue twice.
  std::size_t tasks = 0;
  bool is_posted = false;
  bool begins = false;           // with the first task, whatever `next` is
  task_context* next = nullptr;  // whose wait is to be cancelled
};

void task_scope::run_stop_notice(work_item& item) noexcept {
  auto& self = static_cast<stop_notice&>(item);
  scheduler& where = self.sched;
  if (self.scope.cancel_wait_batch(self)) {
    where.post(self);
  } else {
    self.scope.remove_hold();  // the last access: the scope may be destroyed now
    where.remove_hold();
  }
}

void task_scope::drop_stop_notice(work_item& item) noexcept {
  auto& self = static_cast<stop_notice&>(item);
  scheduler& where = self.sched;
  {
    const detail::thread_lock lock(self.scope.mutex_);
    self.is_posted = false;
    self.next = nullptr;
  }
  self.scope.remove_hold();
  where.remove_hold();
}

bool task_scope::owns_stop_notice(const work_item& item) const noexcept {
  return item.run_ == &task_scope::run_stop_notice &&
         &static_cast<const stop_notice&>(item).scope == this;
}

// A stop of the scope that owns the parent task is a stop of this scope.
struct task_scope::link {
  struct forward {
    task_scope* scope;
    void operator()() const noexcept { scope->request_scope_stop(); }
  };
  link(const std::stop_token& parent, task_scope& scope) : callback(parent, forward{&scope}) {}
  std::stop_callback<forward> callback;
};

task_scope::task_scope(std::string_view kind, std::string_view name, const task_context* maker,
                       task_context* stopped_with)
    : kind_(kind), name_(name), maker_(maker ? maker->id() : task_id{}) {
  if (stopped_with) link_ = std::make_unique<link>(stopped_with->scope().get_stop_token(), *this);
  detail::scope_registry::add(*this);  // last: a constructor that throws has no destructor
}

task_scope::~task_scope() {
  link_ = {};  // no stop can arrive from outside any more
  if (!is_idle()) [[unlikely]]
    detail::scope_destroyed(*this);
  {
    const detail::thread_lock lock(mutex_);
    LEAT_ASSERT(waiters_ == nullptr,
                "task scope destroyed while operations wait on it: join the waiting tasks first");
  }
  detail::scope_registry::remove(*this);
}

bool task_scope::request_scope_stop() noexcept {
  work_list notices;
  work_list satisfied;
  std::stop_source source(std::nostopstate);
  {
    const detail::thread_lock lock(mutex_);
    // release: pairs with stop_requested().
    if (stopped_.exchange(true, std::memory_order_acq_rel)) return false;
    for (const auto& n : stop_notices_) {
      n->begins = true;
      if (n->tasks == 0 || std::exchange(n->is_posted, true)) continue;
      ++held_;
      n->sched.add_hold();  // until the notice is delivered: the tasks may end before it is posted
      notices.push_back(*n);
    }
    satisfied = take_satisfied();
    ++held_;  // keeps the scope alive until this call is over
    source = stop_;
  }
  {
    const detail::preemption_hook::disabled while_callbacks_run;
    source.request_stop();
  }
  while (work_item* item = notices.pop_front()) static_cast<stop_notice*>(item)->sched.post(*item);
  while (work_item* item = satisfied.pop_front()) static_cast<wait_operation*>(item)->wake();
  remove_hold();
  return true;
}

void task_scope::reset_stop() {
  const detail::thread_lock lock(mutex_);
  stop_ = std::stop_source();
  stopped_.store(false, std::memory_order_release);
}

namespace {

// Prefetches the two cache lines that begin at `address`. The memory of 100,000 tasks that a stop
// touches is not cached, and the address of the next task is known only after reading this one.
void prefetch(const void* address) noexcept {
  __builtin_prefetch(address);
  __builtin_prefetch(static_cast<const char*>(address) + 64);
}

}  // namespace

// Returns true if there are more.
bool task_scope::cancel_wait_batch(stop_notice& n) noexcept {
  // Tasks of this scheduler end on this thread only, so their waits remain while the lock is
  // released.
  std::array<wait_operation*, 64> waits;
  std::size_t count = 0;
  bool more = false;
  {
    const detail::thread_lock lock(mutex_);
    if (std::exchange(n.begins, false)) n.set_next(children_);
    if (!stopped_.load(std::memory_order_relaxed)) n.next = nullptr;  // cleared meanwhile
    for (; n.next && count < waits.size(); n.set_next(n.next->following_)) {
      wait_operation* const w = n.next->waiting();
      if (!w) continue;
      prefetch(w);
      prefetch(n.next->body_.address());
      waits[count++] = w;
    }
    more = n.is_posted = n.next != nullptr;
  }
  for (std::size_t i = 0; i < count; ++i) waits[i]->what().cancel(*waits[i]);
  return more;
}

// ------------------------------------------------------------------------- tasks, begin and end

inline task_scope::stop_notice* task_scope::find_stop_notice(const scheduler& s) const noexcept {
  for (const auto& n : stop_notices_) {
    if (&n->sched == &s) return n.get();
  }
  return nullptr;
}

inline void task_scope::add_child(task_context& c, stop_notice& n) noexcept {
  ++tasks_;
  ++n.tasks;
  c.index_ = ++spawned_;
  c.following_ = children_;
  if (children_) children_->previous_ = &c;
  children_ = &c;
}

// Returns false if a stop could not reach the task's scheduler yet.
inline bool task_scope::add_if_known(task_context& c) noexcept {
  const detail::thread_lock lock(mutex_);
  stop_notice* const n = find_stop_notice(*c.scheduler_);
  if (n) add_child(c, *n);
  return n != nullptr;
}

void task_scope::add_with_stop_notice(task_context& c) {
  auto fresh = std::make_unique<stop_notice>(*this, *c.scheduler_);
  const detail::thread_lock lock(mutex_);
  stop_notice* n = find_stop_notice(*c.scheduler_);  // two threads may have arrived here
  if (!n) n = stop_notices_.emplace_back(std::move(fresh)).get();
  add_child(c, *n);
}

bool task_scope::has_task_on(const scheduler& s) const noexcept {
  const detail::thread_lock lock(mutex_);
  for (const task_context* c = children_; c; c = c->following_) {
    if (c->scheduler_ == &s) return true;
  }
  return false;
}

void task_scope::spawn_on(scheduler& s, task<void> t, std::string_view name,
                          const std::source_location& where) {
  LEAT_ASSERT(t.valid(), "spawn() of an empty task: it was moved from or has already been spawned");
  auto child = std::make_unique<task_context>(s, *this, name, where);
  // Complete before it is in the list, where a stop or a dump may find it at once.
  const bool here = scheduler::current() == &s;
  child->run_ = here ? &task_scope::start : &task_scope::start_from_elsewhere;
  child->body_ = t.handle_;
  t.handle_.promise().root_in(*child);
  if (!add_if_known(*child)) add_with_stop_notice(*child);
  static_cast<void>(t.release());
  if (here) {
    s.task_started();
  } else {
    s.work_started();
  }
  s.post(*child.release());
}

void task_scope::start(work_item& item) noexcept {
  auto& self = static_cast<task_context&>(item);
  self.set_started();
  self.scheduler_->resume(self.body_, &self);
}

// The spawn has counted it for the driver only.
void task_scope::start_from_elsewhere(work_item& item) noexcept {
  scheduler& sched = *static_cast<task_context&>(item).scheduler_;
  sched.task_started();
  sched.work_finished();
  start(item);
}

void scheduler::finish_ended() noexcept { task_scope::finish(*std::exchange(ended_, nullptr)); }

// The frames are destroyed.
inline void task_scope::leave_now(task_context& c, std::exception_ptr error) noexcept {
  const std::unique_ptr<task_context> self(&c);
  task_scope& scope = *self->scope_;
  scheduler& sched = *self->scheduler_;
  if (error) [[unlikely]]
    scope.task_failed(std::move(error));
  work_list satisfied;
  {
    const detail::thread_lock lock(scope.mutex_);
    (self->previous_ ? self->previous_->following_ : scope.children_) = self->following_;
    if (self->following_) self->following_->previous_ = self->previous_;
    stop_notice& n = *scope.find_stop_notice(sched);
    --n.tasks;
    if (n.next == self.get()) n.set_next(self->following_);
    if (--scope.tasks_ == 0) satisfied = scope.take_satisfied();
  }  // the last access: the scope may be destroyed now
  while (work_item* w = satisfied.pop_front()) static_cast<wait_operation*>(w)->wake();
  sched.task_ended();
}

void task_scope::leave(task_context& c, std::exception_ptr error) noexcept {
  leave_now(c, std::move(error));
}

void task_scope::finish(task_context& c) noexcept {
  std::exception_ptr error = c.body_.promise().take_error();
  c.body_.destroy();
  leave_now(c, std::move(error));
}

std::size_t task_scope::live_tasks() const noexcept {
  const detail::thread_lock lock(mutex_);
  return tasks_;
}

task_id task_scope::next_id() noexcept {
  const detail::thread_lock lock(mutex_);
  return {number_, ++spawned_};
}

bool task_scope::is_idle() const noexcept {
  const detail::thread_lock lock(mutex_);
  return tasks_ == 0 && held_ == 0;
}

void task_scope::add_hold() noexcept {
  const detail::thread_lock lock(mutex_);
  ++held_;
}

void task_scope::remove_hold() noexcept {
  work_list satisfied;
  {
    const detail::thread_lock lock(mutex_);
    --held_;
    satisfied = take_satisfied();
  }
  while (work_item* w = satisfied.pop_front()) static_cast<wait_operation*>(w)->wake();
}

// ------------------------------------------------------------------------- waiting for a condition

bool task_scope::is_satisfied(unsigned conditions) const noexcept {
  return ((conditions & idle) != 0 && tasks_ == 0 && held_ == 0) ||
         ((conditions & stopped) != 0 && stopped_.load(std::memory_order_relaxed));
}

void task_scope::unlink(condition_wait& w) noexcept {
  (w.previous_ ? w.previous_->following_ : waiters_) = w.following_;
  if (w.following_) w.following_->previous_ = w.previous_;
  w.linked_.store(false, std::memory_order_release);
}

work_list task_scope::take_satisfied() noexcept {
  work_list satisfied;
  for (condition_wait* w = waiters_; w != nullptr;) {
    condition_wait* const following = w->following_;
    if (is_satisfied(w->conditions_)) {
      unlink(*w);
      if (w->claim()) satisfied.push_back(*w);
    }
    w = following;
  }
  return satisfied;
}

condition_wait task_scope::wait_until(unsigned conditions, time_point deadline,
                                      const std::source_location& where) {
  return {*this, conditions, deadline, where};
}

bool task_scope::block_until(unsigned conditions, time_point deadline,
                             const std::source_location& where) {
  LEAT_ASSERT(scheduler::current() == nullptr,
              "blocking wait on a scheduler thread would deadlock: use co_await");
  if ((conditions & idle) != 0 && detail::thread_record::current_id().scope == number_) {
    throw condition_wait::self_join_error(*this, "threads");
  }
  struct sleeper : condition_wait {
    using condition_wait::condition_wait;
    detail::parker parker;
  };
  sleeper self(*this, conditions, deadline, where);
  self.run_ = [](work_item& item) noexcept { static_cast<sleeper&>(item).parker.unpark(); };
  {
    const detail::thread_lock lock(mutex_);
    if (is_satisfied(conditions)) return true;
    self.link_into_scope();
  }
  const detail::thread_record::blocked here(self);
  if (self.parker.park_until(deadline)) return true;
  {
    const detail::thread_lock lock(mutex_);
    if (self.linked_.load(std::memory_order_relaxed)) {
      unlink(self);
      return false;
    }
  }
  self.parker.park();  // the condition became true at the deadline: its wake-up will arrive
  return true;
}

void task_scope::when_idle(condition_wait& w) noexcept {
  {
    const detail::thread_lock lock(mutex_);
    if (!is_satisfied(idle)) {
      w.link_into_scope();
      return;
    }
  }
  w.wake();
}

}  // namespace leat
