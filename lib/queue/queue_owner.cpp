// A push or pop of one item that serves exactly one waiting operation.

#include "leat/queue/detail/queue_owner.hpp"

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task_context.hpp"
#include "leat/queue/memory_budget.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT {
namespace {

task_id running_task() noexcept {
  const task_context* const c = scheduler::current_task();
  return c ? c->id() : waiter::id_of_this_thread();
}

}  // namespace

bool queue_base::begin(detail::queue_waiter& w) {
  return !(w.is_push() ? enqueue_push<false>(w) : enqueue_pop<false>(w)) && begin_general(w);
}

// The first operation that waits has its item.
[[gnu::always_inline]] inline void queue_base::finish_pop(detail::queue_waiter& pop) noexcept {
  mutex_.pass();
  pop.set_done();
  poppers_.remove_first();
  if (poppers_.empty()) update_fast_path();
}

void queue_base::complete_pop(detail::queue_waiter& pop) noexcept {
  name_both(pop);
  finish_pop(pop);
}

void queue_base::complete_push(detail::queue_waiter& push) noexcept {
  name_both(push);
  mutex_.add(1);
  --entering_;
  push.set_done();
  if (push.scheduler_ && push.scheduler_ != scheduler::current()) held_back_ = true;
  pushers_.remove_first();
  if (pushers_.empty()) update_fast_path();
}

work_item* queue_base::match_after_push() noexcept {
  pushing_.remember(running_task());
  return match_waiters().front();
}

work_item* queue_base::match_after_pop() noexcept {
  popping_.remember(running_task());
  return match_waiters().front();
}

void queue_base::name_both(const detail::queue_waiter& w) noexcept {
  (w.is_push() ? popping_ : pushing_).remember(running_task());
  name(w);
}

// ------------------------------------------------------------------- in the section of the owner
//
// The common case makes no call, so that it saves no registers.

[[gnu::always_inline]] inline bool queue_base::end_pop(detail::queue_waiter& pop,
                                                       scheduler* here) noexcept LEAT_NO_ANALYSIS {
  finish_pop(pop);
  mutex_.unlock(true);
  if (!here || pop.scheduler_ != here) [[unlikely]]
    return wake_elsewhere(pop);
  if (scheduler::current() != here) __builtin_unreachable();
  here->post(pop);
  return true;
}

[[gnu::always_inline]] inline bool queue_base::end_push(detail::queue_waiter& push,
                                                        scheduler* here) noexcept LEAT_NO_ANALYSIS {
  mutex_.exchange_one();
  --entering_;
  push.set_done();
  pushers_.remove_first();
  if (pushers_.empty()) update_fast_path();
  mutex_.unlock(true);
  if (scheduler::current() != here) __builtin_unreachable();
  here->post(push);
  return true;
}

bool queue_base::complete_pop_as_owner(detail::queue_waiter& pop) noexcept LEAT_NO_ANALYSIS {
  scheduler* const here = scheduler::current();
  const task_context* const c = scheduler::current_task();
  const bool is_named = c && pushing_.repeats(c->id()) &&
                        (poppers_.size() > detail::recent_tasks::limit ||
                         (pop.context_ && popping_.repeats(pop.context_->id())));
  if (!is_named) [[unlikely]]
    return name_and_complete(pop);
  return end_pop(pop, here);
}

bool queue_base::complete_push_as_owner(detail::queue_waiter& push) noexcept LEAT_NO_ANALYSIS {
  scheduler* const here = scheduler::current();  // that of `push`: see find_local_push()
  const task_context* const c = scheduler::current_task();
  const bool is_named = c && popping_.repeats(c->id()) &&
                        (pushers_.size() > detail::recent_tasks::limit ||
                         (push.context_ && pushing_.repeats(push.context_->id())));
  if (!is_named) [[unlikely]]
    return name_and_complete(push);
  return end_push(push, here);
}

bool queue_base::name_and_complete(detail::queue_waiter& w) noexcept LEAT_NO_ANALYSIS {
  name_both(w);
  return w.is_push() ? end_push(w, scheduler::current()) : end_pop(w, scheduler::current());
}

bool queue_base::wake_elsewhere(detail::queue_waiter& pop) noexcept {
  pop.wake();
  return true;
}

}  // namespace LEAT
