#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <string>

#include "leat/async/dump/internal/live_object.hpp"
#include "leat/async/dump/internal/recent_tasks.hpp"
#include "leat/async/scheduler/work_item.hpp"
#include "leat/queue/detail/queue_limits.hpp"
#include "leat/queue/detail/queue_mutex.hpp"
#include "leat/queue/detail/queue_waiter.hpp"
#include "leat/queue/queue_options.hpp"
#include "leat/queue/queue_statistics.hpp"

namespace LEAT {

class queue_runner;

namespace detail {
template <class Queue>
struct queue_operation;
}  // namespace detail

/// Base class of all queues, for everything that does not depend on the item type: name, capacity,
/// close, fail and statistics. detail::typed_queue_base adds the storage of the items and describes
/// which function calls which.
///
/// Each call changes the state immediately, under the lock. It serves the waiting pushes in order,
/// then the waiting pops, until no item can move. Operations that can continue resume afterwards,
/// on their own schedulers.
///
/// Thread safety: thread-safe. Cost: O(1); O(waiting operations) for a call that ends all of them.
class queue_base {
 public:
  queue_base(const queue_base&) = delete;
  queue_base& operator=(const queue_base&) = delete;

  /// Returns the name of the queue, as messages and dumps contain it.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Returns the maximum number of stored items, or `unbounded`.
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  /// Returns the number of stored items, without those that a pop holds and may return.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Returns true once a close has taken effect.
  [[nodiscard]] bool is_closed() const noexcept;
  /// Returns a consistent snapshot of the counters.
  [[nodiscard]] queue_statistics statistics() const noexcept;

  /// Closes the queue after all pushes that wait now. Remaining items are still delivered. Returns
  /// false if the queue is closed or is already closing. TensorFlow: QueueBase.close.
  bool close() noexcept;

  /// Closes the queue immediately: waiting pushes fail with `cancelled`. Remaining items are still
  /// delivered; then pops return empty. TensorFlow: QueueBase.close(cancel_pending_enqueues=True).
  void close_and_cancel() noexcept;

  /// Closes the queue immediately; pushes, and pops after the last item, throw `cause`, such as the
  /// error of a producer. Only the first call counts. Precondition: `cause` is not null.
  void fail(std::exception_ptr cause) noexcept;

  /// Returns the error passed to fail(), or null if the queue has not failed.
  [[nodiscard]] std::exception_ptr failure_cause() const noexcept;

  /// Writes "queue 'name' (3 of 64)", as in messages and dumps. With a weight function, the text
  /// also has "weight 400 of 4096" and the budget.
  void describe(std::ostream& out) const;

 protected:
  // Properties that the order of a queue determines.
  struct traits {
    std::size_t min_after_dequeue = 0;
    bool takes_whole_batches = false;  // a batch takes its items together, not as they arrive
    bool weighed = false;              // pushes bring weighed_push, batches are weighed_batch
    bool has_sides = false;  // a push that need not wait changes only the back, a pop only
                             // the front
  };
  queue_base(const queue_options& options, const traits& t);
  virtual ~queue_base();

  // -- Provided by the typed queue. Called under the lock and must not throw, except as stated.
  // Moves the next `count` values from the push into storage.
  virtual void store_from_push(detail::queue_waiter& w, std::size_t count) noexcept = 0;
  // Moves the next `count` values from storage to the pop. Returns their weight; 0 if unweighed.
  virtual std::size_t move_to_pop(detail::queue_waiter& w, std::size_t count) noexcept = 0;
  // Returns all items that a pop has taken to storage, which has space for them. Returns their
  // weight.
  virtual std::size_t return_to_storage(detail::queue_waiter& w) noexcept = 0;
  // Ensures that `items` fit without an allocation. Returns how many fit. May throw std::bad_alloc.
  virtual std::size_t reserve(std::size_t items) = 0;
  // Returns the number of items in storage, by its own count, for the statistics.
  [[nodiscard]] virtual std::size_t stored() const noexcept = 0;
  // Computes the weights of a push unless that was done. Not under the lock; may throw.
  virtual void weigh(detail::queue_waiter& w) = 0;

  // -- For the typed queue.
  [[nodiscard]] bool can_store(std::size_t size) const noexcept LEAT_REQUIRES(mutex_) {
    return size < capacity_ && pushers_.empty() && !closed_;
  }
  [[nodiscard]] bool can_take() const noexcept LEAT_REQUIRES(mutex_) {
    return has_item() && poppers_.empty();
  }
  // Returns true if the wake-ups held back for pushing tasks of other threads are due now.
  [[nodiscard]] bool count_taken() noexcept LEAT_REQUIRES(mutex_) {
    mutex_.remove(1);
    if (!held_back_ || size_now() > low_mark_) [[likely]]
      return false;
    held_back_ = false;
    update_fast_path();
    return true;
  }
  [[nodiscard]] std::size_t size_now() const noexcept LEAT_REQUIRES(mutex_) {
    return mutex_.size();
  }

  // Errors: resource_exhausted for an item, or invalid_argument for a batch, that never fits.
  void throw_if_too_heavy(std::size_t weight) const { limits_.throw_if_too_heavy(weight, name_); }
  void throw_if_impossible(std::size_t count) const;

  // Locks a queue for a change: first the lock of its budget, if any, then the queue's own lock,
  // unless the thread has that as its owner.
  class LEAT_SCOPED_CAPABILITY change_lock {
   public:
    explicit change_lock(const queue_base& q, bool may_have_budget = true,
                         bool is_owned = false) noexcept LEAT_ACQUIRE(q.mutex_)
        : queue_(q),
          has_budget_(may_have_budget && q.limits_.budget()),
          owns_budget_(has_budget_ && q.limits_.lock_budget()),
          owns_queue_(is_owned || q.mutex_.lock()) {}
    ~change_lock() LEAT_RELEASE() {
      queue_.mutex_.unlock(owns_queue_);
      if (has_budget_) queue_.limits_.unlock_budget(owns_budget_);
    }
    change_lock(const change_lock&) = delete;
    change_lock& operator=(const change_lock&) = delete;

   private:
    const queue_base& queue_;
    const bool has_budget_;
    const bool owns_budget_;
    const bool owns_queue_;
  };

  // Ensures that one more item fits, in addition to `n` items and those that may return.
  void reserve_one(std::size_t n) LEAT_REQUIRES(mutex_) { reserve_at_least(n + held_limit_ + 1); }
  void reserve_at_least(std::size_t items) LEAT_NO_ANALYSIS {
    if (items <= reserved_) return;
    reserved_ = reserve(items);
    update_fast_path();
  }

  // -- A shortcut for match_waiters(): one item without a weight serves one waiting operation and
  // no other. Return that operation, or null if match_waiters() is needed.
  [[nodiscard]] detail::queue_waiter* find_direct_pop(std::size_t size) const noexcept
      LEAT_REQUIRES(mutex_) {
    detail::queue_waiter* const w = poppers_.first();
    const bool alone = w && size == 0 && min_after_dequeue_ == 0 && w->is_single_pop();
    return alone ? w : nullptr;
  }
  [[nodiscard]] detail::queue_waiter* find_direct_push(std::size_t size) const noexcept
      LEAT_REQUIRES(mutex_) {
    detail::queue_waiter* const w = pushers_.first();
    const bool alone = w && size + 1 == capacity_ && w->is_single_push() && !close_pending_;
    return alone ? w : nullptr;
  }
  // Like find_direct_push(), if that operation waits on the scheduler of this thread and no wake-up
  // is held back.
  [[nodiscard]] detail::queue_waiter* find_local_push(std::size_t size) const noexcept
      LEAT_REQUIRES(mutex_) {
    detail::queue_waiter* const w = find_direct_push(size);
    scheduler* const here = scheduler::current();
    return w && here && w->scheduler_ == here && !held_back_ ? w : nullptr;
  }
  // Complete the first operation that waits, whose item has been moved. The caller wakes it.
  void complete_pop(detail::queue_waiter& pop) noexcept LEAT_REQUIRES(mutex_);
  void complete_push(detail::queue_waiter& push) noexcept LEAT_REQUIRES(mutex_);
  // Also leave the section of the owner and wake the operation. They return true.
  bool complete_pop_as_owner(detail::queue_waiter& pop) noexcept LEAT_RELEASE(mutex_);
  bool complete_push_as_owner(detail::queue_waiter& push) noexcept LEAT_RELEASE(mutex_);
  [[gnu::cold]] bool name_and_complete(detail::queue_waiter& w) noexcept LEAT_RELEASE(mutex_);

  // Executes as much of a batch as is possible without waiting and without overtaking: of a push or
  // a pop_up_to any part, of a pop_many all or nothing. Returns false, without effect, if a
  // pop_up_to of `wanted` items could take more than w.count_, for which it has memory.
  // Errors: std::bad_alloc, without effect.
  [[nodiscard]] bool attempt(detail::queue_waiter& w, std::size_t wanted);
  [[gnu::cold]] void count_refused() noexcept;  // an item that was not added, if closed

  // Matches the wait queues of this queue, and of other queues that can proceed as a result.
  [[nodiscard]] work_list match_waiters() noexcept LEAT_REQUIRES(mutex_) {
    return limits_.budget() ? match_with_budget() : match_wait_queues();
  }
  // Like match_waiters(), and remember the running task. Return the first operation to wake.
  [[nodiscard]] work_item* match_after_push() noexcept LEAT_REQUIRES(mutex_);
  [[nodiscard]] work_item* match_after_pop() noexcept LEAT_REQUIRES(mutex_);
  static void wake_all(work_item* first) noexcept;
  static void wake_one(detail::queue_waiter& w) noexcept;
  static void flush_held_back() noexcept;

  mutable detail::queue_mutex mutex_;
  // Pops leave this number of items in an open queue.
  std::size_t min_after_dequeue_ LEAT_GUARDED_BY(mutex_);
  const std::size_t capacity_;
  const bool takes_whole_batches_;
  const bool weighed_;
  detail::queue_limits limits_;  // for a queue with a weight function
  waiter_list<detail::queue_waiter> pushers_ LEAT_GUARDED_BY(mutex_);
  waiter_list<detail::queue_waiter> poppers_ LEAT_GUARDED_BY(mutex_);
  bool closed_ LEAT_GUARDED_BY(mutex_) = false;

 private:
  friend class memory_budget;
  friend class queue_runner;
  friend class detail::queue_waiter;
  template <class Queue>
  friend struct detail::queue_operation;

  // Starts an operation that could not complete immediately: tries it, or adds it to the waiters.
  // Returns true if it completed without a wait. Errors: std::bad_alloc, without effect.
  bool begin(detail::queue_waiter& w);
  [[nodiscard]] bool begin_general(detail::queue_waiter& w);

  // Like begin(), for a provisional pop. If it completes with items, commit() or undo() follows.
  // Until then undo() cannot fail, and no pop of the closed queue reports the end of the items.
  [[nodiscard]] bool begin_provisional(detail::queue_waiter& w);
  // Makes a provisional pop final. Has no effect on other pops.
  void commit(detail::queue_waiter& w) noexcept;

  // Ends a wait with `cancelled`. Returns false if it has already ended.
  bool cancel(detail::queue_waiter& w) noexcept;
  // Like abandon(), but also returns false, without effect, if a push_many has added items.
  bool abandon_unless_begun(detail::queue_waiter& w) noexcept;

  // Returns the items of a completed pop to the queue; the pop then ends with `cancelled`. Has no
  // effect on other operations, or if there is no memory for a pop that is not provisional.
  void undo(detail::queue_waiter& w) noexcept;

  // Like undo(), for an operation whose result is not used. If there is no memory, the queue fails,
  // the operation keeps its items, and the function returns false.
  bool undo_or_fail(detail::queue_waiter& w) noexcept;

  // Unlinks an operation whose coroutine no longer waits, and returns the items that it took to the
  // queue. Returns false if it has already ended; then its wake-up is pending.
  bool abandon(detail::queue_waiter& w) noexcept;

  // Returns `count` removed items to the queue because their batch could not be created. If there
  // is no memory for that, the queue fails, so that they are not lost silently.
  void put_back(void* batch, std::size_t count) noexcept;

  // For a queue_runner that fills this queue: a dump reports one that was never started. The entry
  // is removed when the runner starts or is destroyed.
  void add_unstarted_runner() noexcept;
  void remove_unstarted_runner() noexcept;
  [[nodiscard]] bool has_unstarted_runner() const noexcept;

  void append_to(std::string& text) const;  // the text that describe() writes
  [[noreturn, gnu::cold]] void abort_destroyed_in_use() const noexcept LEAT_REQUIRES(mutex_);
  // Returns the counters without access to storage, also during construction and destruction. Does
  // not take a lock that was never taken, because the first thread to take it becomes its owner.
  [[nodiscard]] queue_statistics counts() const noexcept;
  [[nodiscard]] queue_statistics counts_now() const noexcept LEAT_REQUIRES(mutex_);
  // A live_object::reporter.
  static bool report(const void* queue, detail::live_object::access, detail::object_state& state);
  [[nodiscard]] std::size_t waiting_now() const noexcept LEAT_REQUIRES(mutex_);
  void list_now(detail::object_state& state) const noexcept LEAT_REQUIRES(mutex_);
  // Returns the number of items that a waiting operation has moved.
  std::size_t moved_count(const detail::queue_waiter& w) const noexcept;
  // Describes a waiting operation and the tasks that could serve it.
  void inspect(const detail::queue_waiter& w, wait_target& object) const;

  void reserve_for(const detail::queue_waiter& w) LEAT_REQUIRES(mutex_);
  // The common case of a wait: a push or pop of one item, by the thread that owns the lock, that
  // has to wait and does not resume any other operation. Return false, without effect, in others.
  // `in_task`: a task waits, and the queue has no weights.
  template <bool in_task>
  [[nodiscard]] bool enqueue_push(detail::queue_waiter& w) noexcept;
  template <bool in_task>
  [[nodiscard]] bool enqueue_pop(detail::queue_waiter& w) noexcept;
  [[gnu::noinline]] static bool wake_elsewhere(detail::queue_waiter& pop) noexcept;
  inline void finish_pop(detail::queue_waiter& pop) noexcept LEAT_REQUIRES(mutex_);
  inline bool end_push(detail::queue_waiter& push, scheduler* here) noexcept LEAT_RELEASE(mutex_);
  inline bool end_pop(detail::queue_waiter& pop, scheduler* here) noexcept LEAT_RELEASE(mutex_);
  // Remember the task of an operation that is about to leave its wait queue. A dump lists those
  // that wait. So the task of one before many others need not be remembered.
  void name(const detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_) {
    if (w.is_unnamed() && (w.is_push() ? pushers_ : poppers_).size() <= detail::recent_tasks::limit)
      (w.is_push() ? pushing_ : popping_).remember(w.task());
  }
  [[gnu::cold]] void name_both(const detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  void expect(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  // Returns true for a batch that takes items as they arrive and may have to return them.
  [[nodiscard]] bool holds_items(const detail::queue_waiter& w) const noexcept {
    return w.the_role() >= detail::queue_waiter::role::pop_many && !takes_whole_batches_;
  }
  // Returns true if no item will enter or return.
  [[nodiscard]] bool is_over() const noexcept LEAT_REQUIRES(mutex_) {
    return closed_ && provisional_pops_.empty();
  }
  template <bool Wake, bool EvenIfBegun = true>
  bool try_remove_waiter(detail::queue_waiter& w) noexcept;
  void undo_pop(detail::queue_waiter& w);
  [[nodiscard]] work_list match_wait_queues() noexcept LEAT_REQUIRES(mutex_);
  [[nodiscard]] work_list match_others(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  bool advance_push(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  bool advance_pop(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  bool advance_selected_push(detail::queue_waiter& w, work_list& woken) noexcept
      LEAT_REQUIRES(mutex_);
  void remove_waiter(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  [[nodiscard]] bool claim_or_remove(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  void complete_waiter(detail::queue_waiter& w, wait_outcome outcome, work_list& woken) noexcept
      LEAT_REQUIRES(mutex_);
  [[gnu::cold]] bool become_provisional(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  void leave_provisional(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  void restore_items(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  void return_held(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  void close_now(work_list& woken, wait_outcome for_pushes) noexcept LEAT_REQUIRES(mutex_);

  [[nodiscard]] work_list close_and_match(wait_outcome for_pushes) noexcept LEAT_REQUIRES(mutex_);

  // -- Whether the next item of a push may be added, and whether a pop may take an item.
  [[nodiscard]] bool has_space_for(const detail::queue_waiter& w) const noexcept
      LEAT_REQUIRES(mutex_) {
    return size_now() < capacity_ && (!weighed_ || can_add_next(w));
  }
  [[nodiscard]] bool has_item() const noexcept LEAT_REQUIRES(mutex_) {
    return size_now() > min_after_dequeue_ || (size_now() > 0 && weighed_ && ignores_minimum());
  }
  [[nodiscard]] bool is_batch_impossible(const detail::queue_waiter& w) const noexcept
      LEAT_REQUIRES(mutex_) {
    return weighed_ && takes_whole_batches_ && can_never_fill_batch(w);
  }

  // -- In queue_weight.cpp.
  static std::size_t next_weight(const detail::queue_waiter& w) noexcept;
  bool can_add_next(const detail::queue_waiter& w) const noexcept LEAT_REQUIRES(mutex_);
  const detail::queue_waiter* first_push_within_capacity() const noexcept LEAT_REQUIRES(mutex_);
  bool ignores_minimum() const noexcept LEAT_REQUIRES(mutex_);
  bool can_never_fill_batch(const detail::queue_waiter& w) const noexcept LEAT_REQUIRES(mutex_);
  void add_weights_to(queue_statistics& s) const noexcept LEAT_REQUIRES(mutex_);

  // -- Also in queue_weight.cpp: the budget. Called under both locks.
  void take_ticket(detail::queue_waiter& w) noexcept LEAT_REQUIRES(mutex_);
  void match_wait_queues_with_budget(work_list& woken) noexcept LEAT_REQUIRES(mutex_);
  work_list match_with_budget() noexcept LEAT_REQUIRES(mutex_);
  void match_for_budget(queue_base& locked, work_list& woken) noexcept;
  void leave_budget(work_list& woken) noexcept LEAT_REQUIRES(mutex_);

  // Updates the conditions of the fast path after a change of a wait queue, closed_ or held_back_.
  void update_fast_path() noexcept LEAT_REQUIRES(mutex_) {
    if (!pushers_.empty() || !poppers_.empty() || slow_paths_ != 0) {
      mutex_.set_no_bounds();
      return;
    }
    std::size_t floor = min_after_dequeue_;
    // The pop that reaches the low mark has to flush the wake-ups.
    if (held_back_) [[unlikely]]
      floor = std::max(floor, low_mark_ + 1);
    mutex_.set_bounds(closed_ ? 0 : std::min(capacity_, reserved_), floor);
  }

  bool close_pending_ LEAT_GUARDED_BY(mutex_) = false;
  bool held_back_ LEAT_GUARDED_BY(mutex_) = false;
  const std::size_t low_mark_;
  std::size_t slow_paths_ LEAT_GUARDED_BY(mutex_);      // 1 for a budget, 1 per provisional pop
  std::size_t held_ LEAT_GUARDED_BY(mutex_) = 0;        // taken by pops that may return them
  std::size_t held_limit_ LEAT_GUARDED_BY(mutex_) = 0;  // the largest value that held_ may reach
  std::size_t entering_ LEAT_GUARDED_BY(mutex_) = 0;    // items that waiting pushes have yet to add
  std::size_t reserved_ LEAT_GUARDED_BY(mutex_) = 0;    // items for which there is memory, at least
  std::size_t unstarted_runners_ LEAT_GUARDED_BY(mutex_) = 0;  // that were never started
  std::uint64_t returned_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t push_waits_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t pop_waits_ LEAT_GUARDED_BY(mutex_) = 0;
  waiter_list<detail::queue_waiter> provisional_pops_
      LEAT_GUARDED_BY(mutex_);  // completed with items
  std::exception_ptr cause_ LEAT_GUARDED_BY(mutex_);
  detail::live_object registration_{this, "queue", &queue_base::report};  // for dump()
  detail::queue_waiter close_marker_;  // the position of a plain close among the pushes
  const std::string name_;
  // The tasks whose operations waited or ended a wait: those that usually fill and empty the queue.
  detail::recent_tasks pushing_ LEAT_GUARDED_BY(mutex_);
  detail::recent_tasks popping_ LEAT_GUARDED_BY(mutex_);
};

/// Defined here because it needs the complete type queue_base.
inline detail::queue_waiter::queue_waiter(queue_base& queue, role r, void* items, std::size_t count,
                                          const std::source_location& where) noexcept
    : waiter(r <= role::close ? push_kind : pop_kind, where),
      queue_number_(queue.registration_.number()),
      queue_(queue),
      items_(items),
      count_(count) {
  role_ = static_cast<std::uint8_t>(r);
}

}  // namespace LEAT
