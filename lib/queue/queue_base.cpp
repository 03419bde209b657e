#include "leat/queue/queue_base.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task_context.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/queue/detail/queue_weight.hpp"
#include "leat/queue/memory_budget.hpp"

namespace LEAT {

// ------------------------------------------------------------------------------------ construction

queue_base::queue_base(const queue_options& options, const traits& t)
    : mutex_(t.has_sides),
      min_after_dequeue_(t.min_after_dequeue),
      capacity_(options.capacity),
      takes_whole_batches_(t.takes_whole_batches),
      weighed_(t.weighed),
      limits_(options),
      low_mark_(options.capacity / 2),
      slow_paths_(options.budget ? 1 : 0),
      close_marker_(*this, detail::queue_waiter::role::close, nullptr, 0,
                    std::source_location::current()),
      name_(options.name) {
  const auto reject = [this](const char* why) {
    throw failure(errc::invalid_argument, "queue '" + name_ + "': " + why);
  };
  if (capacity_ == 0) reject("capacity is 0: use 1 or more");
  if (options.max_weight == 0) reject("max_weight is 0: use 1 or more");
  if (!weighed_ && (options.max_weight != unbounded || options.budget)) {
    reject("max_weight or budget without a weight function: add one to the queue type");
  }
  if (options.budget) options.budget->join(*this, min_after_dequeue_ > 0);
  registration_.add();
}

queue_base::~queue_base() {
  registration_.remove();
  work_list woken;
  {
    const change_lock lock(*this);
    if (!poppers_.empty() || (!pushers_.empty() && pushers_.first() != &close_marker_)) {
      abort_destroyed_in_use();
    }
    LEAT_ASSERT(unstarted_runners_ == 0,
                "queue destroyed before a queue_runner that fills it: declare the queue first");
    while (detail::queue_waiter* const w = provisional_pops_.first()) leave_provisional(*w);
    if (limits_.budget()) leave_budget(woken);
  }
  wake_all(woken.front());
}

// -------------------------------------------------------------------------------- the wait queues

// Unlinks it last: an operation of a select that has lost may then be destroyed on another thread,
// which sees that it is no longer linked and does not take the lock.
void queue_base::remove_waiter(detail::queue_waiter& w) noexcept {
  if (w.is_push()) {
    entering_ -= w.count_ - w.moved_;
    name(w);
    pushers_.remove(w);
    return;
  }
  name(w);
  if (w.is_returning()) {
    if (w.is_provisional() && become_provisional(w)) return;
    held_ -= w.moved_;
    held_limit_ -= w.count_;
  }
  poppers_.remove(w);
}

void queue_base::complete_waiter(detail::queue_waiter& w, wait_outcome outcome,
                                 work_list& woken) noexcept {
  w.outcome_ = outcome;
  remove_waiter(w);
  if (w.the_role() == detail::queue_waiter::role::close) return;
  if (w.is_push() && w.scheduler_ && w.scheduler_ != scheduler::current()) held_back_ = true;
  woken.push_back(w);
}

// Returns all items that a pop has moved to storage, which has space for them.
void queue_base::restore_items(detail::queue_waiter& w) noexcept {
  const std::size_t weight = return_to_storage(w);
  if (weighed_) limits_.count_returned(weight);
  mutex_.take_back(w.moved_);
  returned_ += w.moved_;
  w.moved_ = 0;
}

// Returns the items of an unfinished pop.
void queue_base::return_held(detail::queue_waiter& w) noexcept {
  if (w.the_role() == detail::queue_waiter::role::pop || w.moved_ == 0) return;
  if (w.is_returning()) held_ -= w.moved_;
  restore_items(w);
}

// Adds as many items at a time as there is space for; with weights a single one, because each item
// may exceed the weight.
bool queue_base::advance_push(detail::queue_waiter& w) noexcept {
  while (w.moved_ < w.count_) {
    if (!has_space_for(w)) return false;
    const std::size_t fitting =
        weighed_ ? 1 : std::min(w.count_ - w.moved_, capacity_ - size_now());
    store_from_push(w, fitting);
    if (weighed_) limits_.count_stored(next_weight(w));
    w.moved_ += fitting;
    entering_ -= fitting;
    mutex_.add(fitting);
  }
  return true;
}

bool queue_base::advance_pop(detail::queue_waiter& w) noexcept {
  const bool allows_partial_batch =
      is_over() && w.the_role() == detail::queue_waiter::role::pop_up_to;
  if (takes_whole_batches_ && !allows_partial_batch && size_now() < min_after_dequeue_ + w.count_)
    return false;
  while (w.moved_ < w.count_) {
    if (!has_item()) return false;
    const std::size_t there =
        weighed_ ? 1 : std::min(w.count_ - w.moved_, size_now() - min_after_dequeue_);
    const std::size_t weight = move_to_pop(w, there);
    if (weighed_) limits_.count_taken(weight);
    w.moved_ += there;
    mutex_.remove(there);
    if (w.is_returning()) held_ += there;
  }
  return true;
}

// An operation of a select has to win before a single item moves, unless it may be done in part.
// Returns true if it may continue. Otherwise another branch has won, and the operation is no longer
// in the wait queue.
bool queue_base::claim_or_remove(detail::queue_waiter& w) noexcept {
  if (w.claim()) return true;
  remove_waiter(w);
  return false;
}

void queue_base::close_now(work_list& woken, wait_outcome for_pushes) noexcept {
  closed_ = true;
  close_pending_ = false;
  min_after_dequeue_ = 0;  // the remaining items may be drained
  while (detail::queue_waiter* w = pushers_.first()) {
    if (!claim_or_remove(*w)) continue;
    refused_ += w->count_ - w->moved_;
    complete_waiter(*w, for_pushes, woken);
  }
}

// A push of many adds its items as space becomes free, and wins the select when all are added;
// items that were added remain. Returns false if the operation still waits.
bool queue_base::advance_selected_push(detail::queue_waiter& w, work_list& woken) noexcept {
  const bool is_push_many = w.is_push_many();
  if (is_push_many ? !advance_push(w) : !has_space_for(w)) return false;
  if (!claim_or_remove(w)) return true;
  if (!is_push_many) static_cast<void>(advance_push(w));
  complete_waiter(w, wait_outcome::done, woken);
  return true;
}

// Pushes are served first, and again after a pop has moved an item. Each wait queue is served up to
// the first operation that cannot proceed, so none is overtaken. Afterwards no operation waits that
// could proceed.
work_list queue_base::match_wait_queues() noexcept {
  work_list woken;
  for (bool moved = true; moved;) {
    moved = false;  // by a pop, which alone frees capacity for pushes
    while (detail::queue_waiter* w = pushers_.first()) {
      if (w->the_role() == detail::queue_waiter::role::close) {
        close_now(woken, wait_outcome::closed);
        break;
      }
      if (w->is_selected()) {
        if (!advance_selected_push(*w, woken)) break;
        continue;
      }
      if (!advance_push(*w)) break;
      complete_waiter(*w, wait_outcome::done, woken);
    }
    while (detail::queue_waiter* w = poppers_.first()) {
      const bool single = w->the_role() == detail::queue_waiter::role::pop;
      if (w->is_selected() && single) {
        if (!has_item() && !is_over()) break;
        if (!claim_or_remove(*w)) continue;
      }
      const std::size_t before = w->moved_;
      const bool done = advance_pop(*w);
      moved = moved || w->moved_ != before;
      if (!done && !is_over()) {
        if (!is_batch_impossible(*w)) break;
        if (claim_or_remove(*w)) complete_waiter(*w, wait_outcome::exhausted, woken);
        continue;
      }
      if (w->is_selected() && !single && !w->claim()) {  // others may take what a batch returns
        return_held(*w);
        remove_waiter(*w);
        continue;
      }
      if (!done && !(w->the_role() == detail::queue_waiter::role::pop_up_to && w->moved_ > 0)) {
        return_held(*w);  // the next waiting operation may need no more than these items
        complete_waiter(*w, cause_ ? wait_outcome::failed : wait_outcome::closed, woken);
        continue;
      }
      complete_waiter(*w, wait_outcome::done, woken);
    }
  }
  update_fast_path();
  return woken;
}

// ---------------------------------------------------------------------------- beginning and ending

// An operation allocates in its own name only: whatever others do on its behalf later must not
// fail.
void queue_base::reserve_for(const detail::queue_waiter& w) {
  const std::size_t held = held_limit_ + (w.is_returning() ? w.count_ : 0);
  const std::size_t most = std::max({size_now(), min_after_dequeue_, capacity_});
  if (held <= reserved_ && most <= reserved_ - held) return;  // memory for all that may be added
  const std::size_t entering = entering_ + (w.is_push() ? w.count_ : 0);
  std::size_t inside =
      std::max({size_now(), min_after_dequeue_, std::min(capacity_, size_now() + entering)});
  // A push to a queue with all of its memory does not allocate, whatever may return.
  if (w.is_provisional() && reserved_ >= capacity_) inside = std::max(inside, capacity_);
  reserve_at_least(inside + held);
}

// A push is about to bring its items.
void queue_base::expect(detail::queue_waiter& w) noexcept {
  entering_ += w.count_;
  if (limits_.budget()) take_ticket(w);
}

void queue_base::throw_if_impossible(std::size_t count) const {
  if (!takes_whole_batches_ || count <= 1) return;
  const auto reject = [&](const std::string& why) {
    throw failure(errc::invalid_argument,
                  "queue '" + name_ + "': pop of " + std::to_string(count) + " items " + why);
  };
  if (count > capacity_) {
    reject("exceeds the capacity of " + std::to_string(capacity_) +
           ": pop fewer items or raise the capacity");
  }
  if (limits_.budget()) {
    reject(
        "could deadlock on its memory budget, which the first items occupy while they wait for the "
        "others: pop single items or use a try_ operation");
  }
}

bool queue_base::begin_general(detail::queue_waiter& w) {
  if (!w.is_push()) throw_if_impossible(w.count_);
  if (weighed_ && w.is_push()) weigh(w);
  work_list woken;
  bool waits = true;
  {
    const change_lock lock(*this);
    waiter_list<detail::queue_waiter>& wait_queue = w.is_push() ? pushers_ : poppers_;
    (w.is_push() ? pushing_ : popping_).remember(w.task());
    if (w.is_push() && closed_) {
      w.outcome_ = cause_ ? wait_outcome::failed : wait_outcome::closed;
      if (w.claim()) refused_ += w.count_;
      waits = false;
    } else {
      if (holds_items(w)) w.set(detail::queue_waiter::returning);
      reserve_for(w);  // may throw; nothing has to be undone yet
      if (w.is_returning()) {
        held_limit_ += w.count_;
        if (w.is_provisional()) ++slow_paths_;
      }
      if (w.is_push()) expect(w);
      const bool first = wait_queue.empty();
      wait_queue.push_back(w);
      if (first) woken = match_others(w);  // after others it cannot proceed yet
      waits = w.is_linked();
      if (waits) ++(w.is_push() ? push_waits_ : pop_waits_);
    }
  }
  wake_all(woken.front());
  return !waits;
}

void queue_base::count_refused() noexcept {
  const detail::queue_lock lock(mutex_);  // not that of a budget: nothing else changes
  if (closed_) ++refused_;
}

bool queue_base::attempt(detail::queue_waiter& w, std::size_t wanted) {
  if (weighed_ && w.is_push()) weigh(w);
  work_list woken;
  {
    const change_lock lock(*this);
    if (w.is_push()) {
      if (closed_) refused_ += w.count_;
      if (closed_ || !pushers_.empty()) return true;
      reserve_for(w);
      expect(w);
      for (std::size_t before = w.count_; before != w.moved_;) {  // pops free capacity
        before = w.moved_;
        static_cast<void>(advance_push(w));
        work_list others = match_waiters();
        woken.append(others);
      }
      entering_ -= w.count_ - w.moved_;
    } else {
      const std::size_t above = size_now() - std::min(size_now(), min_after_dequeue_);
      const std::size_t there = above > 0 || !has_item() ? above : 1;
      if (!poppers_.empty() || there == 0) return true;
      if (there < wanted && w.the_role() == detail::queue_waiter::role::pop_many) return true;
      const std::size_t taken = std::min(wanted, there);
      if (taken > w.count_) return false;
      w.count_ = taken;
      static_cast<void>(advance_pop(w));
      woken = match_waiters();
    }
  }
  wake_all(woken.front());
  return true;
}

// Matches all waiting operations. If `w` itself is done, it is not woken, because its coroutine is
// not suspended yet.
work_list queue_base::match_others(detail::queue_waiter& w) noexcept {
  work_list others;
  work_list woken = match_waiters();
  while (work_item* item = woken.pop_front()) {
    if (item != &w) others.push_back(*item);
  }
  return others;
}

template <bool Wake, bool EvenIfBegun>
bool queue_base::try_remove_waiter(detail::queue_waiter& w) noexcept {
  // acquire: pairs with waiter_list::remove(). After the wait, the queue may be gone.
  if (!w.is_linked()) return false;
  work_list woken;
  {
    const change_lock lock(*this);
    if (!w.is_linked() || (!EvenIfBegun && w.moved_ > 0)) return false;
    const bool was_first = w.previous_ == nullptr;
    if (!w.is_push()) return_held(w);
    work_list self;
    complete_waiter(w, wait_outcome::cancelled, self);
    if (Wake) woken.append(self);
    if (was_first || limits_.budget()) {
      work_list others = match_waiters();  // later operations advance
      woken.append(others);
    }
  }
  wake_all(woken.front());
  return true;
}

bool queue_base::cancel(detail::queue_waiter& w) noexcept { return try_remove_waiter<true>(w); }
bool queue_base::abandon_unless_begun(detail::queue_waiter& w) noexcept {
  return try_remove_waiter<false, false>(w);
}
bool queue_base::abandon(detail::queue_waiter& w) noexcept { return try_remove_waiter<false>(w); }

bool queue_base::close() noexcept {
  work_list woken;
  {
    const change_lock lock(*this);
    if (closed_ || close_pending_) return false;
    close_pending_ = true;
    pushers_.push_back(close_marker_);
    woken = match_waiters();
  }
  wake_all(woken.front());
  return true;
}

work_list queue_base::close_and_match(wait_outcome for_pushes) noexcept {
  work_list woken;
  if (!closed_) close_now(woken, for_pushes);
  work_list others = match_waiters();
  woken.append(others);
  return woken;
}

void queue_base::close_and_cancel() noexcept {
  work_list woken;
  {
    const change_lock lock(*this);
    woken = close_and_match(wait_outcome::cancelled);
  }
  wake_all(woken.front());
}

void queue_base::fail(std::exception_ptr cause) noexcept {
  LEAT_ASSERT(cause,
              "fail() of a queue without a cause: pass an exception, or use close_and_cancel()");
  work_list woken;
  {
    const change_lock lock(*this);
    if (cause_) return;  // the first cause counts
    cause_ = std::move(cause);
    woken = close_and_match(wait_outcome::failed);
  }
  wake_all(woken.front());
}

// ------------------------------------------------------------------------------------- wake-ups

// A task that waits for items is woken by the first item. A task that waited for free capacity is
// not urgent, because its item is stored already. If it runs on another thread, its wake-up is held
// back until the queue has drained to half of its capacity or this turn ends. Then one wake-up of
// the other thread covers many items.
void queue_base::wake_one(detail::queue_waiter& w) noexcept {
  scheduler* const here = scheduler::current();
  if (w.is_push() && here && w.get_scheduler() && w.get_scheduler() != here) {
    here->wake_later(w);
  } else {
    w.wake();
  }
}

void queue_base::wake_all(work_item* first) noexcept {
  for (work_item* item = first; item;) {
    auto& w = *static_cast<detail::queue_waiter*>(item);
    item = item->next_;  // first: the waiter may be gone once it is woken
    wake_one(w);
  }
}

void queue_base::flush_held_back() noexcept {
  if (scheduler* const here = scheduler::current()) here->flush_wakeups();
}

}  // namespace LEAT
