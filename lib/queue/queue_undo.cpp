// Returning the items of a completed pop to the queue.

#include <algorithm>
#include <exception>
#include <new>

#include "leat/queue/memory_budget.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat {

// Returns the items of a completed pop to the queue. Errors: std::bad_alloc, and errors of the
// weight function; then nothing has changed.
void queue_base::undo_pop(detail::queue_waiter& w) {
  const bool single = w.role_ == detail::queue_waiter::role::pop;
  const std::size_t single_weight = weighed_ && single ? weigh_taken(w) : 0;
  work_list woken;
  {
    const change_lock lock(*this);
    // Waiting pushes that have memory already may enter together with the returned items.
    const std::size_t back = size_ + w.moved_;
    reserve(std::max(back, std::min(capacity_, back + entering_)) + held_limit_);
    restore_items(w, single_weight);
    woken = match_waiters();
  }
  wake_all(woken);
}

void queue_base::undo(detail::queue_waiter& w) noexcept {
  if (!w.has_items()) return;
  try {
    undo_pop(w);
    w.outcome_ = detail::queue_outcome::cancelled;
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

}  // namespace leat
