#include "leat/async/task_scope.hpp"
#include "leat/async/condition_wait.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "async/internal/live_tasks_text.hpp"
#include "async/internal/scope_registry.hpp"
#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/detail/task_local_node.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"

namespace leat {

void detail::promise_base::unhandled_exception() noexcept {
  context_->get_scheduler().task_error() = std::current_exception();
}

std::exception_ptr detail::promise_base::take_error_to_throw() noexcept { return take_error(); }

// --------------------------------------------------------------------- stop, from scope to task

// Returns them in a list that `following_` links.
inline condition_wait* task_scope::take_satisfied() noexcept {
  condition_wait* const first = waiters_;
  if (first && !first->following_ && !first->select_state_) [[likely]] {
    if (!is_satisfied(first->conditions_)) return nullptr;
    waiters_ = nullptr;
    first->linked_.store(false, std::memory_order_release);
    return first;
  }
  return take_several_satisfied();
}

condition_wait* task_scope::take_several_satisfied() noexcept {
  condition_wait* satisfied = nullptr;
  condition_wait** last = &satisfied;
  for (condition_wait* w = waiters_; w != nullptr;) {
    condition_wait* const following = w->following_;
    if (is_satisfied(w->conditions_)) {
      unlink(*w);
      if (w->claim()) {
        *last = w;
        last = &w->following_;
      }
    }
    w = following;
  }
  *last = nullptr;
  return satisfied;
}

inline void task_scope::wake_all(condition_wait* w) noexcept {
  while (w) std::exchange(w, w->following_)->wake();
}

void task_scope::run_stop_notice(work_item& item) noexcept {
  auto& self = static_cast<detail::stop_notice&>(item);
  scheduler& where = *self.sched;
  if (self.scope->cancel_wait_batch(self)) {
    where.post(self);
  } else {
    self.scope->remove_hold();  // the last access: the scope may be destroyed now
    where.remove_hold();
  }
}

bool task_scope::owns_stop_notice(const work_item& item) const noexcept {
  return item.run_ == &task_scope::run_stop_notice &&
         static_cast<const detail::stop_notice&>(item).scope == this;
}

// Returns the thread that will use a new scope alone, or null if several may use it.
static inline detail::biased_mutex::thread_id find_owner(const scheduler* here) noexcept {
  return here && here->is_run_by_one_thread() ? detail::biased_mutex::this_thread() : nullptr;
}

char* task_scope::copy_name(std::string_view name) {
  auto copy = std::make_unique<char[]>(name.size() + 1);
  std::ranges::copy(name, copy.get());
  return copy.release();
}

// Without calls, except at their ends, the constructor and the destructor need no stack frame: half
// of their cost would be to save registers.
task_scope::task_scope(std::string_view kind, char* name, task_id maker,
                       task_context* stopped_with) noexcept
    : kind_(kind), name_(name), maker_(maker), mutex_(find_owner(scheduler::current())) {
  task_scope* const parent = stopped_with ? &stopped_with->scope() : nullptr;
  // Linked before the test: a stop of the parent finds this scope, or the test finds the stop.
  if (!detail::scope_registry::add_quickly(*this, parent)) [[unlikely]] {
    add_slowly(parent);
  } else if (parent && parent->stop_requested()) [[unlikely]] {
    stop_with_parent();
  }
}

void task_scope::add_slowly(task_scope* parent) noexcept {
  detail::scope_registry::add(*this, parent);
  if (parent && parent->stop_requested()) stop_with_parent();
}

void task_scope::stop_with_parent() noexcept {
  detail::scope_registry::remove_from_parent(*this);
  stop_scope(true);
}

// If this thread owns the lock, no other thread has used the scope. A stop of the parent may still
// arrive until the scope is removed; it does no harm to a scope without tasks.
task_scope::~task_scope() LEAT_NO_ANALYSIS {
  if (!mutex_.is_owned_here() || is_used() || !detail::scope_registry::remove_quickly(*this))
      [[unlikely]] {
    remove_slowly();
  } else if (name_ || stop_ || stop_notice_.following) [[unlikely]] {
    free_parts();
  }
}

void task_scope::remove_slowly() noexcept {
  check_unused();
  detail::scope_registry::remove(*this);
  free_parts();
}

// Needs no lock: nothing refers to the scope any more.
void task_scope::free_parts() noexcept LEAT_NO_ANALYSIS {
  delete[] name_;
  delete stop_;
  for (detail::stop_notice* n = stop_notice_.following; n;) delete std::exchange(n, n->following);
}

// A stop of the parent that is in progress also holds the scope.
void task_scope::check_unused() noexcept {
  {
    const detail::biased_lock lock(mutex_);
    if (!is_used()) return;
  }
  detail::scope_registry::remove_from_parent(*this);
  if (!is_idle()) detail::scope_destroyed(*this);
  const detail::biased_lock lock(mutex_);
  LEAT_ASSERT(waiters_ == nullptr,
              "task scope destroyed while operations wait on it: join the waiting tasks first");
}

std::stop_token task_scope::get_stop_token() const {
  const detail::biased_lock lock(mutex_);
  if (!stop_) {
    stop_ = new std::stop_source;
    if (stopped_.load(std::memory_order_relaxed)) stop_->request_stop();
  }
  return stop_->get_token();
}

// Sets the flag, and decides which schedulers finish_stop() is to notify. Returns false if a stop
// was requested before.
bool task_scope::begin_stop(bool with_parent) noexcept {
  const detail::biased_lock lock(mutex_);
  if (stopped_.load(std::memory_order_relaxed)) return false;
  stopped_with_parent_ = with_parent;
  stopped_.store(true, std::memory_order_release);  // pairs with stop_requested()
  for (detail::stop_notice* n = &stop_notice_; n; n = n->following) {
    n->begins = true;
    if (n->tasks == 0 || std::exchange(n->is_posted, true)) continue;
    n->is_due = true;
    ++held_;
    n->scope = this;
    n->run_ = &task_scope::run_stop_notice;
    n->sched->add_hold();  // until the notice is delivered: the tasks may end before it is posted
  }
  ++held_;  // keeps the scope alive until finish_stop()
  return true;
}

void task_scope::finish_stop() noexcept {
  work_list notices;
  condition_wait* satisfied = nullptr;
  std::stop_source source(std::nostopstate);
  {
    const detail::biased_lock lock(mutex_);
    for (detail::stop_notice* n = &stop_notice_; n; n = n->following) {
      if (std::exchange(n->is_due, false)) notices.push_back(*n);
    }
    satisfied = take_satisfied();
    if (stop_ && stopped_.load(std::memory_order_relaxed)) source = *stop_;
  }
  {
    const detail::preemption_hook::disabled while_callbacks_run;
    source.request_stop();
  }
  // Each notice has a hold on this scope and on its scheduler, which end when it has run.
  while (work_item* item = notices.pop_front())
    static_cast<detail::stop_notice*>(item)->sched->post(*item);
  wake_all(satisfied);
  remove_hold();
}

// The scopes that stop with this one stop before its callbacks run, which may stop such a scope
// too. Tasks await each other under any number of limits, so a stop must not recurse: each scope
// whose stop is in progress refers to the one that it stops with.
bool task_scope::stop_scope(bool with_parent) noexcept {
  using registry = detail::scope_registry;
  if (!begin_stop(with_parent)) return false;
  {
    const detail::preemption_hook::disabled while_callbacks_run;
    for (task_scope* scope = this;;) {
      task_scope* const child = registry::begin_stop_of_child(*scope);
      if (child && child->begin_stop(true)) {
        scope = child;
      } else if (child) {
        registry::end_stop(*child);
      } else if (scope == this) {
        break;
      } else {
        task_scope& ended = *std::exchange(scope, scope->previous_sibling_);
        ended.finish_stop();
        registry::end_stop(ended);
      }
    }
  }
  finish_stop();
  return true;
}

// If finish_stop() is yet to run on another thread, the tokens of the withdrawn request stop here.
void task_scope::reset_stop() {
  std::unique_ptr<std::stop_source> withdrawn;
  {
    const detail::biased_lock lock(mutex_);
    if (!stopped_.load(std::memory_order_relaxed)) return;
    withdrawn.reset(std::exchange(stop_, nullptr));
    stopped_.store(false, std::memory_order_release);
  }
  if (withdrawn) withdrawn->request_stop();
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
bool task_scope::cancel_wait_batch(detail::stop_notice& n) noexcept {
  // Tasks of this scheduler end on this thread only, so their waits remain while the lock is
  // released.
  std::array<wait_operation*, 64> waits;
  std::size_t count = 0;
  bool more = false;
  {
    const detail::biased_lock lock(mutex_);
    if (std::exchange(n.begins, false)) n.set_next(children_);
    if (!stopped_.load(std::memory_order_relaxed)) n.next = nullptr;  // cleared meanwhile
    for (; n.next && count < waits.size(); n.set_next(n.next->following_)) {
      wait_operation* const w = n.next->waiting();
      if (!w) continue;
      prefetch(w);
      prefetch(n.next->innermost_);
      waits[count++] = w;
    }
    more = n.is_posted = n.next != nullptr;
  }
  for (std::size_t i = 0; i < count; ++i) waits[i]->what().cancel(*waits[i]);
  return more;
}

// ------------------------------------------------------------------------- tasks, begin and end

inline detail::stop_notice* task_scope::find_stop_notice(const scheduler& s) noexcept {
  detail::stop_notice* n = &stop_notice_;
  while (n && n->sched != &s) n = n->following;
  return n;
}

inline void task_scope::add_child(task_context& c, detail::stop_notice& n) noexcept {
  ++tasks_;
  ++n.tasks;
  c.index_ |= ++spawned_ * 4;  // above the flags
  c.following_ = children_;
  if (children_) children_->previous_ = &c;
  children_ = &c;
}

bool task_scope::add_if_known(task_context& c) noexcept {
  const detail::biased_lock lock(mutex_);
  if (!stop_notice_.sched) stop_notice_.sched = c.scheduler_;
  detail::stop_notice* const n = find_stop_notice(*c.scheduler_);
  if (n) add_child(c, *n);
  return n != nullptr;
}

// Frees the context if it throws.
void task_scope::add_slowly(task_context& c) {
  if (add_if_known(c)) return;
  struct free_task {
    void operator()(task_context* c) const noexcept { task_context::free(*c); }
  };
  std::unique_ptr<task_context, free_task> owned(&c);
  auto fresh = std::make_unique<detail::stop_notice>();
  fresh->sched = c.scheduler_;
  const detail::biased_lock lock(mutex_);
  detail::stop_notice* n = find_stop_notice(*c.scheduler_);  // two threads may have arrived here
  if (!n) {
    n = fresh.release();
    n->following = std::exchange(stop_notice_.following, n);
  }
  add_child(*owned.release(), *n);
}

bool task_scope::has_task_on(const scheduler& s) const noexcept {
  const detail::biased_lock lock(mutex_);
  for (const task_context* c = children_; c; c = c->following_) {
    if (c->scheduler_ == &s) return true;
  }
  return false;
}

// Without calls, like the constructor. Returns false, without effect, if this is another scheduler
// or thread, if a stop could not reach the scheduler, or if there is no free memory.
[[gnu::always_inline]] inline bool task_scope::start_quickly(
    scheduler& s, detail::promise_base& promise, const std::source_location& where) noexcept {
  if (scheduler::current() != &s || s.has_task_locals() || !mutex_.try_lock_as_owner()) {
    return false;
  }
  detail::stop_notice& n = stop_notice_;
  void* const memory =
      !n.sched || n.sched == &s ? detail::take_free_frame(sizeof(task_context)) : nullptr;
  if (!memory) {
    mutex_.unlock(true);
    return false;
  }
  task_context& child = *::new (memory) task_context(s, *this, where);
  promise.root_in(child);
  child.run_ = &task_scope::start;
  n.sched = &s;
  add_child(child, n);
  mutex_.unlock(true);
  s.post(child);
  s.task_started();  // last, because it may make a call
  return true;
}

void task_scope::start_slowly(scheduler& s, detail::promise_base& promise, std::string_view name,
                              const std::source_location& where) {
  detail::task_local_node* const locals = detail::current_task_locals();
  void* const memory = detail::allocate_frame(task_context::size_with(locals != nullptr, name));
  task_context& child = *::new (memory) task_context(s, *this, where);
  child.set_tail(locals ? &locals->share() : nullptr, name);
  // Complete before it is in the list, where a stop or a dump may find it at once.
  promise.root_in(child);
  const bool is_here = scheduler::current() == &s;
  child.run_ = is_here ? &task_scope::start : &task_scope::start_from_elsewhere;
  if (!is_here) mutex_.give_up();  // the task will lock it on another thread
  add_slowly(child);
  if (is_here) {
    s.task_started();
  } else {
    s.work_started();
  }
  s.post(child);
}

void task_scope::start_on(scheduler& s, detail::promise_base& promise, std::source_location where) {
  if (!start_quickly(s, promise, where)) [[unlikely]]
    start_slowly(s, promise, std::string_view(), where);
}

void task_scope::start_named_on(scheduler& s, detail::promise_base& promise, std::string_view name,
                                std::source_location where) {
  start_slowly(s, promise, name.substr(0, name.find('\0')), where);
}

void task_scope::start(work_item& item) noexcept {
  auto& self = static_cast<task_context&>(item);
  self.set_started();
  self.scheduler_->resume(self.innermost_->coroutine(), &self, true);
}

bool task_scope::is_start(const work_item& item) noexcept {
  return item.run_ == &task_scope::start || item.run_ == &task_scope::start_from_elsewhere ||
         item.run_ == &detail::joint_scope::start_and_then;
}

// The spawn has counted it for the driver only.
void task_scope::start_from_elsewhere(work_item& item) noexcept {
  scheduler& sched = *static_cast<task_context&>(item).scheduler_;
  sched.task_started();
  sched.work_finished();
  if (static_cast<task_context&>(item).has_locals()) sched.has_task_locals() = true;
  start(item);
}

void detail::task_runner::finish_ended() noexcept {
  task_scope::finish(*std::exchange(ended_, nullptr));
}

// Removes a task whose frames are destroyed. Returns the waits that are satisfied now.
inline condition_wait* task_scope::remove_child(task_context& c) noexcept {
  (c.previous_ ? c.previous_->following_ : children_) = c.following_;
  if (c.following_) c.following_->previous_ = c.previous_;
  detail::stop_notice& n = *find_stop_notice(*c.scheduler_);
  --n.tasks;
  if (n.next == &c) [[unlikely]]
    n.set_next(c.following_);
  return --tasks_ == 0 && waiters_ ? take_satisfied() : nullptr;
}

condition_wait* task_scope::remove_child_slowly(task_context& c) noexcept {
  const detail::biased_lock lock(mutex_);
  return remove_child(c);
}

// A short path without a call while it holds the lock. The scope may be destroyed after that.
inline void task_scope::leave_now(task_context& c) noexcept LEAT_NO_ANALYSIS {
  task_scope& scope = *c.scope_;
  condition_wait* satisfied = nullptr;
  if (scope.mutex_.try_lock_as_owner()) [[likely]] {
    satisfied = scope.remove_child(c);
    scope.mutex_.unlock(true);
  } else {
    satisfied = scope.remove_child_slowly(c);
  }
  if (satisfied) wake_all(satisfied);
  scheduler& sched = *c.scheduler_;
  task_context::free(c);
  sched.task_ended();
}

void task_scope::leave(task_context& c, std::exception_ptr error) noexcept {
  c.scope_->task_failed(std::move(error));
  leave_now(c);
}

void task_scope::finish(task_context& c) noexcept {
  if (c.innermost_) finish_with_result(c);
  leave_now(c);
}

void task_scope::finish_with_result(task_context& c) noexcept {
  task_scope& scope = *c.scope_;
  detail::promise_base& promise = *c.innermost_;  // that of the outermost coroutine, at its end
  std::exception_ptr error = promise.take_error();
  if (!error) {
    try {
      scope.task_returned(c.index() - 1, promise);
    } catch (...) {
      error = std::current_exception();
    }
  }
  promise.coroutine().destroy();
  if (error) scope.task_failed(std::move(error));
}

detail::promise_base& task_scope::outermost(const task_context& c) noexcept {
  detail::promise_base* promise = c.innermost_;
  LEAT_ASSERT(promise, "the outermost coroutine of a task that has ended its coroutine");
  while (detail::promise_base* const parent = promise->parent()) promise = parent;
  return *promise;
}

std::size_t task_scope::live_tasks() const noexcept {
  const detail::biased_lock lock(mutex_);
  return tasks_;
}

task_id task_scope::next_id() noexcept {
  const detail::biased_lock lock(mutex_);
  return {number_, ++spawned_};
}

bool task_scope::is_idle() const noexcept {
  const detail::biased_lock lock(mutex_);
  return tasks_ == 0 && held_ == 0;
}

void task_scope::add_hold() noexcept {
  const detail::biased_lock lock(mutex_);
  ++held_;
}

void task_scope::remove_hold() noexcept {
  condition_wait* satisfied = nullptr;
  {
    const detail::biased_lock lock(mutex_);
    --held_;
    satisfied = take_satisfied();
  }
  wake_all(satisfied);
}

}  // namespace leat
