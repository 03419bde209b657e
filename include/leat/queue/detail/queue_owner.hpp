#pragma once

// The wait of one item, in the thread that owns the lock of the queue. No function makes a call in
// the usual case.

#include "leat/queue/queue_base.hpp"

namespace LEAT {

// A queue that is full has memory for its items and those that may return, unless it holds returned
// items beyond its capacity. `capacity_` is not `unbounded`, so the sum cannot wrap around.
template <bool in_task>
[[gnu::always_inline]] inline bool queue_base::enqueue_push(detail::queue_waiter& w) noexcept
    LEAT_NO_ANALYSIS {
  if ((!in_task && (weighed_ || w.count_ != 1)) || !mutex_.try_lock_as_owner()) return false;
  const bool waits = size_now() == capacity_ && !closed_ && capacity_ + held_limit_ <= reserved_;
  if (waits) [[likely]] {
    w.set(detail::queue_waiter::unnamed);
    if (pushers_.empty()) mutex_.set_no_bounds();
    pushers_.push_back(w);
    ++entering_;
    ++push_waits_;
  }
  mutex_.unlock(true);
  return waits;
}

template <bool in_task>
[[gnu::always_inline]] inline bool queue_base::enqueue_pop(detail::queue_waiter& w) noexcept
    LEAT_NO_ANALYSIS {
  if ((!in_task && (weighed_ || w.the_role() != detail::queue_waiter::role::pop)) ||
      !mutex_.try_lock_as_owner()) {
    return false;
  }
  const bool waits = size_now() <= min_after_dequeue_ && !closed_ && !close_pending_;
  if (waits) [[likely]] {
    w.set(detail::queue_waiter::unnamed);
    if (poppers_.empty()) mutex_.set_no_bounds();
    poppers_.push_back(w);
    ++pop_waits_;
  }
  mutex_.unlock(true);
  return waits;
}

}  // namespace LEAT
