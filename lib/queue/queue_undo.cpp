// Returning the items of a completed pop to the queue. docs/decisions/0011-provisional-pops.md
// explains the choices.
//
// A pop whose items may return is provisional if the undo is part of normal operation: next to an
// operation of a select() that cannot be undone, or with a handler that a cancellation may reach.
// Its states:
//
//   waiting      In the wait queue. A slot per item is reserved (held_limit_).
//   provisional  It has its items and is in provisional_pops_. The items count as held. Pops of a
//                closed queue wait, because the items may return.
//   final        commit(): the items left the queue.
//   undone       undo(): the items are in the queue again, where the next pop finds them.
//
// A pop that ends without items, or that another branch of its select beats, releases its slots and
// is never provisional. If the queue is destroyed, the pop is final.
//
// Other pops are undone only if their coroutine or handler is destroyed with its scheduler or
// execution context. They reserve nothing, and other pops do not wait for them: undo_or_fail().

#include <algorithm>
#include <exception>
#include <new>

#include "leat/queue/memory_budget.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT {

// ----------------------------------------------------------------------------- provisional pops

bool queue_base::begin_provisional(detail::queue_waiter& w) {
  w.set(detail::queue_waiter::provisional);
  w.set(detail::queue_waiter::returning);
  try {
    return begin_general(w);
  } catch (...) {
    w.clear(detail::queue_waiter::provisional);  // it has no slots to release
    throw;
  }
}

// Called when the pop leaves the wait queue. Returns false if it has no items.
bool queue_base::become_provisional(detail::queue_waiter& w) noexcept {
  if (w.has_items()) {
    poppers_.remove(w);
    provisional_pops_.push_back(w);
    w.linked_.store(false, std::memory_order_release);  // it no longer waits
    return true;
  }
  w.clear(detail::queue_waiter::provisional);
  --slow_paths_;
  return false;
}

void queue_base::leave_provisional(detail::queue_waiter& w) noexcept {
  provisional_pops_.remove(w);
  w.clear(detail::queue_waiter::provisional);
  --slow_paths_;
  held_ -= w.moved_;
  held_limit_ -= w.count_;
}

void queue_base::commit(detail::queue_waiter& w) noexcept {
  if (!w.is_provisional()) return;
  work_list woken;
  {
    const change_lock lock(*this);
    leave_provisional(w);
    woken = match_waiters();  // pops of a closed queue
  }
  wake_all(woken.front());
}

// ------------------------------------------------------------------------------------------- undo

// Returns the items of a completed pop to the queue. Errors: std::bad_alloc, unless the pop is
// provisional; then nothing has changed.
void queue_base::undo_pop(detail::queue_waiter& w) {
  work_list woken;
  {
    const change_lock lock(*this);
    if (w.is_provisional()) {
      leave_provisional(w);
    } else {
      // Waiting pushes that have memory already may enter together with the returned items.
      const std::size_t back = size_now() + w.moved_;
      reserve_at_least(std::max(back, std::min(capacity_, back + entering_)) + held_limit_);
    }
    restore_items(w);
    woken = match_waiters();
  }
  wake_all(woken.front());
}

void queue_base::undo(detail::queue_waiter& w) noexcept {
  if (!w.has_items()) return;
  try {
    undo_pop(w);
    w.outcome_ = wait_outcome::cancelled;
  } catch (...) {
    // The pop stays complete.
  }
}

bool queue_base::undo_or_fail(detail::queue_waiter& w) noexcept {
  undo(w);
  if (!w.has_items()) return true;
  fail(std::make_exception_ptr(std::bad_alloc()));
  return false;
}

void queue_base::put_back(void* batch, std::size_t count) noexcept {
  detail::queue_waiter holder(*this, detail::queue_waiter::role::pop_many, batch, count);
  holder.moved_ = count;
  try {
    undo_pop(holder);
  } catch (...) {
    fail(std::current_exception());
  }
}

}  // namespace LEAT
