#include "leat/sync/detail/broadcast_base.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "base/internal/append_text.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

// The values with the numbers [begin_, end_) are stored. A receiver reads next_, or begin_ if it
// was overtaken. unread_ of a stored value is the number of receivers with next_ at or before it.
// Since receivers read in order and join at end_, the counts never decrease from one value to the
// next: the values that all receivers have read come first, and are destroyed in order.
//
// A receive is served without being given a value. It reads the value when its coroutine resumes,
// and advance() then counts it.

constinit const wait_operation::kind broadcast_base::receive_kind =
    synchronizer_waiter::kind_of("receive from", "broadcast");
constinit const wait_operation::kind broadcast_base::send_kind =
    synchronizer_waiter::kind_of("send to", "broadcast");

broadcast_base::broadcast_base(std::size_t capacity, lag_policy policy, std::string name)
    : synchronizer("broadcast", order::as_ready, std::move(name)),
      capacity_(capacity),
      policy_(policy) {
  if (capacity == 0) {
    std::string text;
    append_name_to(text);
    text += ": a capacity of 0 stores no value: use at least 1";
    throw failure(errc::invalid_argument, text);
  }
  if (capacity > unread_.max_size()) throw std::bad_alloc();
  unread_.resize(capacity);
}

broadcast_base::~broadcast_base() LEAT_NO_ANALYSIS {
  if (receivers_ != 0) abort_misused("destroyed before its receivers: destroy the receivers first");
}

// ----------------------------------------------------------------------------------- the values

// The sender destroys the value that it overwrites, outside the lock.
void broadcast_base::store(void* value) noexcept {
  if (receivers_ == 0) return;  // no receiver will read it
  const std::size_t slot = slot_of(end_);
  if (is_full()) {
    swap_with(slot, value);
    count_removed();
  } else {
    move_into(slot, value);
  }
  unread_[slot] = receivers_;
  ++end_;
}

work_item* broadcast_base::remove_oldest() noexcept {
  destroy_value(slot_of(begin_));
  count_removed();
  if (policy_ != lag_policy::wait || waiting_.empty()) return nullptr;
  return serve_after_read().front();
}

void broadcast_base::wake_from(work_item* first) noexcept {
  while (work_item* const item = first) {
    first = item->next_;
    static_cast<synchronizer_waiter*>(item)->wake();
  }
}

void broadcast_base::clear() noexcept LEAT_NO_ANALYSIS {
  for (; begin_ != end_; count_removed()) destroy_value(slot_of(begin_));
}

broadcast_base::send_result broadcast_base::try_store(void* value) noexcept {
  work_list woken;
  {
    const lock_type lock(mutex_);
    if (closed_) return send_result::closed;
    if (policy_ == lag_policy::wait && is_full()) return send_result::full;
    store(value);
    woken = serve();
  }
  wake_all(woken);
  return send_result::sent;
}

bool broadcast_base::close() noexcept {
  work_list woken;
  {
    const lock_type lock(mutex_);
    if (closed_) return false;
    closed_ = true;
    // The receivers that wait have read everything, and a send that waits has no space.
    woken = end_all(wait_outcome::closed);
  }
  wake_all(woken);
  return true;
}

// --------------------------------------------------------------------------------- the receivers

void broadcast_base::join(broadcast_position& r) noexcept {
  const lock_type lock(mutex_);
  r.owner_ = this;
  r.next_ = end_;
  r.following_ = first_;
  if (first_) first_->previous_ = &r;
  first_ = &r;
  ++receivers_;
}

// The values that it has not read are read by one receiver less.
void broadcast_base::leave(broadcast_position& r) noexcept {
  if (r.reading_)
    abort_misused("receiver destroyed while a task receives from it: join the task first");
  const lock_type lock(mutex_);
  (r.previous_ ? r.previous_->following_ : first_) = r.following_;
  if (r.following_) r.following_->previous_ = r.previous_;
  --receivers_;
  for (std::uint64_t n = std::max(r.next_, begin_); n != end_; ++n) --unread_[slot_of(n)];
}

void broadcast_base::replace(broadcast_position& old, broadcast_position& by) noexcept {
  if (old.reading_)
    abort_misused("receiver moved while a task receives from it: join the task first");
  const lock_type lock(mutex_);
  by.owner_ = this;
  by.next_ = old.next_;
  by.name_ = std::move(old.name_);
  by.previous_ = old.previous_;
  by.following_ = old.following_;
  (by.previous_ ? by.previous_->following_ : first_) = &by;
  if (by.following_) by.following_->previous_ = &by;
}

void broadcast_base::reading::abort_shared(const broadcast_position& r) noexcept {
  r.owner_->abort_misused("receiver used by two tasks at the same time: subscribe in each task");
}

// Serves the sends that have space now, and then the receivers that waited before those sends.
work_list broadcast_base::serve_after_read() noexcept {
  // The first pass skips a receiver that precedes a send, because it has no value yet. Two passes
  // are enough, since a receiver frees its slot only when it reads.
  const std::uint64_t end = end_;
  work_list woken = serve();
  if (end_ != end) {
    work_list receivers = serve();
    woken.append(receivers);
  }
  return woken;
}

// ---------------------------------------------------------------------------------- the wait queue

bool broadcast_base::is_ready(const synchronizer_waiter& w) const noexcept {
  if (&w.what() == &send_kind) return !is_full();
  return has_value_for(*reinterpret_cast<const broadcast_position*>(w.request()));
}

void broadcast_base::grant(synchronizer_waiter& w) noexcept {
  if (&w.what() == &send_kind) store(reinterpret_cast<void*>(w.request()));
}

wait_outcome broadcast_base::outcome_if_closed(const synchronizer_waiter& w) const noexcept {
  const bool has_value = &w.what() == &receive_kind && is_ready(w);
  return closed_ && !has_value ? wait_outcome::closed : wait_outcome::waiting;
}

void broadcast_base::append_state_to(std::string& text) const {
  append_text(text, " (", end_ - begin_, " of ", capacity_, ", ", receivers_,
              receivers_ == 1 ? " receiver" : " receivers");
  const broadcast_position* slowest = first_;
  for (const broadcast_position* r = first_; r; r = r->following_) {
    if (r->next_ < slowest->next_) slowest = r;
  }
  if (slowest && slowest->next_ != end_) {
    text += ", the slowest";
    if (!slowest->name_.empty()) append_text(text, ", '", slowest->name_, "',");
    append_text(text, " is ", end_ - slowest->next_, " behind");
  }
  text += closed_ ? ", closed)" : ")";
}

void broadcast_base::inspect(const synchronizer_waiter&, wait_target& target) const {
  target.size = static_cast<std::size_t>(end_ - begin_);
  target.capacity = capacity_;
  target.closed = closed_;
}

}  // namespace LEAT::detail
