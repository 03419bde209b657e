#include <array>
#include <memory>
#include <utility>

#include "async/internal/scope_registry.hpp"
#include "leat/async/condition_wait.hpp"
#include "leat/async/task_scope.hpp"

// The stop of a scope, from the request to the waits of its tasks.

namespace LEAT {

void task_scope::stop_with_parent() noexcept {
  detail::scope_registry::remove_from_parent(*this);
  stop_scope(true);
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

std::stop_token task_scope::get_stop_token() const {
  const detail::biased_lock lock(mutex_);
  if (!stop_) {
    stop_ = new std::stop_source;
    has_parts_ = true;
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
  stop_notice_.tasks = tasks();
  for (const detail::stop_notice* n = stop_notice_.following; n; n = n->following)
    stop_notice_.tasks -= n->tasks;
  for (detail::stop_notice* n = &stop_notice_; n; n = n->following) {
    n->begins = true;
    if (n->tasks == 0 || std::exchange(n->is_posted, true)) continue;
    n->is_due = true;
    users_ += one_hold;
    n->scope = this;
    n->run_ = &task_scope::run_stop_notice;
    n->sched->add_hold();  // until the notice is delivered: the tasks may end before it is posted
  }
  users_ += one_hold;  // keeps the scope alive until finish_stop()
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

}  // namespace LEAT
