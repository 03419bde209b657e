#include "leat/async/task_scope.hpp"
#include "leat/async/condition_wait.hpp"

#include <algorithm>
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

namespace LEAT {

void detail::promise_base::unhandled_exception() noexcept {
  context_->get_scheduler().task_error() = std::current_exception();
}

std::exception_ptr detail::promise_base::take_error_to_throw() noexcept { return take_error(); }

// ------------------------------------------------------------------------------------- creation

// Returns the thread that will use a new scope alone, or null if several may use it.
static inline detail::biased_mutex::thread_id find_owner(const scheduler* here) noexcept {
  const detail::biased_mutex::thread_id self = detail::biased_mutex::this_thread();
  if (!self) __builtin_unreachable();
  return here && here->is_run_by_one_thread() ? self : nullptr;
}

// Returns the id of the current task and sets `scope` to its scope, or an empty id.
static inline task_id find_maker(task_scope*& scope) noexcept {
  const task_context* const maker = scheduler::current_task();
  if (!maker) return {};
  scope = &maker->scope();
  return maker->id();
}

char* task_scope::copy_name(std::string_view name) {
  auto copy = std::make_unique<char[]>(name.size() + 1);
  std::ranges::copy(name, copy.get());
  return copy.release();
}

// Without calls, except at their ends, the constructor and the destructor need no stack frame: half
// of their cost would be to save registers.
[[gnu::always_inline]] inline void task_scope::add_to_registry(task_scope* parent) noexcept {
  // Linked before the test: a stop of the parent finds this scope, or the test finds the stop.
  if (!detail::scope_registry::add_quickly(*this, parent)) [[unlikely]] {
    add_slowly(parent);
  } else if (parent && parent->stop_requested()) [[unlikely]] {
    stop_with_parent();
  }
}

task_scope::task_scope(std::string_view kind, char* name, task_id maker,
                       task_context* stopped_with) noexcept
    : kind_(kind),
      maker_(maker),
      name_(name),
      mutex_(find_owner(scheduler::current())),
      stop_notice_(scheduler::current()) {
  add_to_registry(stopped_with ? &stopped_with->scope() : nullptr);
}

// `parent` is a variable for the first initializer, which finds the task.
[[gnu::always_inline]] inline task_scope::task_scope(task_scope* parent, std::string_view kind,
                                                     char* name) noexcept
    : kind_(kind),
      maker_(find_maker(parent)),
      name_(name),
      mutex_(find_owner(scheduler::current())),
      stop_notice_(scheduler::current()) {
  add_to_registry(parent);
}

task_scope::task_scope(std::string_view kind, char* name) noexcept
    : task_scope(static_cast<task_scope*>(nullptr), kind, name) {}

void task_scope::add_slowly(task_scope* parent) noexcept {
  detail::scope_registry::add(*this, parent);
  if (parent && parent->stop_requested()) stop_with_parent();
}

// If this thread owns the lock, no other thread has used the scope. A stop of the parent may still
// arrive until the scope is removed; it does no harm to a scope without tasks.
task_scope::~task_scope() LEAT_NO_ANALYSIS {
  if (!mutex_.is_owned_here() || is_used() || !detail::scope_registry::remove_quickly(*this))
      [[unlikely]] {
    remove_slowly();
  } else if (name_ || has_parts_) [[unlikely]] {
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

// ------------------------------------------------------------------------- tasks, begin and end

inline detail::stop_notice* task_scope::find_stop_notice(const scheduler& s) noexcept {
  detail::stop_notice* n = &stop_notice_;
  while (n && n->sched != &s) n = n->following;
  return n;
}

inline void task_scope::add_child(task_context& c, detail::stop_notice& n) noexcept {
  ++users_;
  if (&n != &stop_notice_) ++n.tasks;
  c.index_ |= spawned_ += task_context::one_task;
  c.following_ = children_;
  if (children_) children_->previous_ = &c;
  children_ = &c;
}

bool task_scope::add_if_known(task_context& c) noexcept {
  const detail::biased_lock lock(mutex_);
  detail::stop_notice* n = find_stop_notice(*c.scheduler_);
  if (!n && (!stop_notice_.sched || (users_ == 0 && !stop_notice_.following))) {  // it is free
    n = &stop_notice_;
    n->sched = c.scheduler_;
  }
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
  auto fresh = std::make_unique<detail::stop_notice>(c.scheduler_);
  fresh->tasks = 0;
  const detail::biased_lock lock(mutex_);
  detail::stop_notice* n = find_stop_notice(*c.scheduler_);  // two threads may have arrived here
  if (!n) {
    n = fresh.release();
    n->following = std::exchange(stop_notice_.following, n);
    has_parts_ = true;
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
[[gnu::always_inline]] inline bool task_scope::start_quickly(scheduler* s,
                                                             detail::promise_base& promise,
                                                             std::source_location where) noexcept {
  // A mutex that this thread owns was created on a scheduler, so it has the first notice.
  if (!mutex_.try_lock_as_owner()) return false;
  void* const memory = stop_notice_.sched == s && !s->has_task_locals()
                           ? detail::take_free_frame(sizeof(task_context))
                           : nullptr;
  if (!memory) {
    mutex_.unlock(true);
    return false;
  }
  task_context& child = *::new (memory) task_context(*s, *this, where);
  promise.root_in(child);
  child.run_ = &task_scope::start;
  add_child(child, stop_notice_);
  mutex_.unlock(true);
  s->post_here(child);
  s->task_started();  // last, because it may make a call
  return true;
}

void task_scope::start_slowly(scheduler* on, detail::promise_base& promise, std::string_view name,
                              std::source_location where) {
  LEAT_ASSERT(on != nullptr, "task_group::spawn() outside a scheduler: use spawn_on()");
  scheduler& s = *on;
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
  if (scheduler::current() != &s || !start_quickly(&s, promise, where)) [[unlikely]]
    start_slowly(&s, promise, std::string_view(), where);
}

void task_scope::start_named_in_turn(detail::promise_base& promise, std::string_view name,
                                     std::source_location where) {
  start_slowly(scheduler::current(), promise, name.substr(0, name.find('\0')), where);
}

void task_scope::start_in_turn(detail::promise_base& promise, std::source_location where) {
  scheduler* const s = scheduler::current();
  if (!start_quickly(s, promise, where)) [[unlikely]]
    start_slowly(s, promise, std::string_view(), where);
}

void task_scope::start_named_on(scheduler& s, detail::promise_base& promise, std::string_view name,
                                std::source_location where) {
  start_slowly(&s, promise, name.substr(0, name.find('\0')), where);
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

// ------------------------------------------------------------------- waits that are satisfied

// Returns them in a list that `following_` links.
condition_wait* task_scope::take_satisfied() noexcept {
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

void task_scope::wake_all(condition_wait* w) noexcept {
  while (w) std::exchange(w, w->following_)->wake();
}

// -------------------------------------------------------------------------------- end of tasks

inline void task_scope::unlink_child(task_context& c) noexcept {
  (c.previous_ ? c.previous_->following_ : children_) = c.following_;
  if (c.following_) c.following_->previous_ = c.previous_;
}

// Removes a task whose frames are destroyed. Returns the waits that are satisfied now.
condition_wait* task_scope::remove_child(task_context& c) noexcept {
  unlink_child(c);
  detail::stop_notice& n = *find_stop_notice(*c.scheduler_);
  if (&n != &stop_notice_) --n.tasks;
  if (n.next == &c) n.set_next(c.following_);
  return --users_ == 0 && waiters_ ? take_satisfied() : nullptr;
}

// The scope may be destroyed after the wake-up.
void task_scope::leave_now(task_context& c) noexcept {
  condition_wait* satisfied = nullptr;
  {
    const detail::biased_lock lock(c.scope_->mutex_);
    satisfied = c.scope_->remove_child(c);
  }
  wake_all(satisfied);
  free_and_end(c);
}

void task_scope::free_and_end(task_context& c) noexcept {
  scheduler& sched = *c.scheduler_;
  task_context::free(c);
  sched.task_ended();
}

void task_scope::leave(task_context& c, std::exception_ptr error) noexcept {
  c.scope_->task_failed(std::move(error));
  leave_now(c);
}

// A short path for a task of the scheduler of the first notice, which wakes no wait or a join that
// is alone. Makes no call, except at its end.
[[gnu::always_inline]] inline void task_scope::finish(task_context& c) noexcept {
  task_scope& scope = *c.scope_;
  scheduler& sched = *c.scheduler_;
  if (c.innermost_) [[unlikely]]
    return finish_with_result(c);
  if (!scope.mutex_.try_lock_as_owner()) [[unlikely]]
    return leave_now(c);
  condition_wait* const join = scope.users_ == 1 ? scope.waiters_ : nullptr;
  const bool is_simple =
      !join || (join->stage_ == condition_wait::stage::alone && join->scheduler_ == &sched);
  if (!is_simple || scope.stop_notice_.sched != &sched || scope.stop_notice_.next == &c)
      [[unlikely]] {
    scope.mutex_.unlock(true);
    return leave_now(c);
  }
  scope.unlink_child(c);
  --scope.users_;
  if (join) {
    scope.waiters_ = nullptr;
    join->linked_.store(false, std::memory_order_release);
    scope.mutex_.unlock(true);
    sched.post_here(*join);
  } else {
    scope.mutex_.unlock(true);
  }
  const bool has_tail = c.index_ % task_context::one_task != 0;
  if (has_tail || !detail::keep_free_frame(&c, sizeof(task_context))) [[unlikely]]
    return free_and_end(c);
  sched.task_ended();
}

void detail::task_runner::finish_ended(task_context& c) noexcept { task_scope::finish(c); }

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
  c.innermost_ = nullptr;
  finish(c);
}

detail::promise_base& task_scope::outermost(const task_context& c) noexcept {
  detail::promise_base* promise = c.innermost_;
  LEAT_ASSERT(promise, "the outermost coroutine of a task that has ended its coroutine");
  while (detail::promise_base* const parent = promise->parent()) promise = parent;
  return *promise;
}

std::size_t task_scope::live_tasks() const noexcept {
  const detail::biased_lock lock(mutex_);
  return tasks();
}

task_id task_scope::next_id() noexcept {
  const detail::biased_lock lock(mutex_);
  spawned_ += task_context::one_task;
  return {number_, spawned_ / task_context::one_task};
}

bool task_scope::is_idle() const noexcept {
  const detail::biased_lock lock(mutex_);
  return users_ == 0;
}

void task_scope::add_hold() noexcept {
  const detail::biased_lock lock(mutex_);
  users_ += one_hold;
}

void task_scope::remove_hold() noexcept {
  condition_wait* satisfied = nullptr;
  {
    const detail::biased_lock lock(mutex_);
    users_ -= one_hold;
    satisfied = take_satisfied();
  }
  wake_all(satisfied);
}

}  // namespace LEAT
