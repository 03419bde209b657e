#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "leat/async/scheduler/work_item.hpp"
#include "leat/base/internal/biased_mutex.hpp"

namespace LEAT {

class queue_base;
namespace detail {
class queue_limits;
}  // namespace detail

/// A consistent snapshot of a memory_budget's counters.
struct budget_statistics {
  std::size_t limit = 0;     ///< maximum weight of the stored items
  std::size_t used = 0;      ///< weight stored now, in all queues of the budget
  std::size_t peak = 0;      ///< largest weight stored so far
  std::size_t queues = 0;    ///< queues that share the budget
  std::size_t waiting = 0;   ///< queues whose first push waits for the budget
  std::size_t awaited = 0;   ///< weight of the item that waits first, or 0 if no push waits
  std::size_t returned = 0;  ///< weight of items that pops have returned, even above the limit
};

/// A limit on the total weight of the items in several queues.
///
///     leat::memory_budget ram(512 << 20, "ram");
///     leat::fifo_queue<std::string, by_size> raw({.capacity = 64, .budget = &ram});
///     leat::fifo_queue<image, by_pixels> decoded({.capacity = 16, .budget = &ram});
///
/// A push waits until its item fits into its queue and into the budget, so a pop from one queue may
/// resume a push to another queue. The total weight of the items stored in all queues never exceeds
/// the limit, except by items that a pop has returned to its queue.
///
/// Order of service: pushes that wait only for the budget resume in the order of their arrival,
/// across all queues. The first one blocks the others, even lighter ones. A push that waits for its
/// own queue does not block pushes to other queues.
///
/// Minimum sizes: a random_shuffle_queue delivers items below its min_after_dequeue while a push
/// waits for the budget, or while the weight limit of the queue blocks its first push. Otherwise a
/// push that waits for memory and a pop that waits for items could wait for each other.
///
/// Lifetime: the budget must outlive its queues. The destructor asserts that no queue is left.
///
/// Locking: an operation on a queue with a budget holds the budget's lock and, inside it, the
/// queue's lock. Under the budget's lock it may lock several of the budget's queues; under a
/// queue's lock alone it locks nothing else. Operations on the queues of one budget are therefore
/// serialized.
///
/// Thread safety: thread-safe.
/// Cost: a second lock for each operation on the queues, and O(queues) while a push waits. A queue
/// without a budget has no extra cost.
class memory_budget {
 public:
  /// Creates a budget. `limit` has the unit of the weight functions, such as bytes; `name` appears
  /// in messages and dumps.
  ///
  /// Errors: invalid_argument for a limit of 0.
  explicit memory_budget(std::size_t limit, std::string name = {});
  memory_budget(const memory_budget&) = delete;
  memory_budget& operator=(const memory_budget&) = delete;
  ~memory_budget();

  /// Returns the name that was passed to the constructor.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Returns the limit for the weight of all items in the queues of the budget.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Returns the weight stored now, in all queues of the budget.
  [[nodiscard]] std::size_t used() const noexcept { return statistics().used; }

  /// Returns a consistent snapshot of the counters.
  [[nodiscard]] budget_statistics statistics() const noexcept;

  /// Writes "budget 'ram' (3000 of 4096)", as in messages and dumps.
  void describe(std::ostream& out) const;

 private:
  friend class queue_base;
  friend class detail::queue_limits;

  // A queue whose first push fits into the queue but waits for the budget.
  struct waiting_queue {
    std::uint64_t ticket;
    std::size_t weight;
    queue_base* queue;
  };

  // Errors: std::bad_alloc, without effect.
  void join(queue_base& q, bool has_minimum);
  void leave(queue_base& q) noexcept LEAT_REQUIRES(mutex_);

  // -- For its queues, under its lock.
  [[nodiscard]] bool has_space_for(std::size_t weight) const noexcept LEAT_REQUIRES(mutex_) {
    return used_ <= limit_ && weight <= limit_ - used_;
  }
  [[nodiscard]] bool is_first(std::uint64_t ticket) const noexcept LEAT_REQUIRES(mutex_) {
    return waiting_queues_.empty() || ticket < waiting_queues_.front().ticket;
  }
  [[nodiscard]] bool is_stuck() const noexcept LEAT_REQUIRES(mutex_) {
    return !waiting_queues_.empty() && !has_space_for(waiting_queues_.front().weight);
  }
  void stored(std::size_t weight) noexcept LEAT_REQUIRES(mutex_) {
    used_ += weight;
    if (used_ > peak_) peak_ = used_;
  }
  void append_to(std::string& text) const;  // the text that describe() writes
  void add_waiting(const waiting_queue& p) noexcept LEAT_REQUIRES(mutex_);
  void remove_waiting(const queue_base& q) noexcept LEAT_REQUIRES(mutex_);

  // Serves the queues whose pushes fit. `locked` is the queue whose lock the caller holds.
  void match_queues(queue_base& locked, work_list& woken) noexcept LEAT_REQUIRES(mutex_);
  bool release_minimums(queue_base& locked, work_list& woken) noexcept LEAT_REQUIRES(mutex_);

  mutable detail::biased_mutex mutex_;
  const std::size_t limit_;
  std::size_t used_ LEAT_GUARDED_BY(mutex_) = 0;
  std::size_t peak_ LEAT_GUARDED_BY(mutex_) = 0;
  std::size_t returned_ LEAT_GUARDED_BY(mutex_) = 0;
  std::size_t queues_ LEAT_GUARDED_BY(mutex_) = 0;
  std::uint64_t tickets_ LEAT_GUARDED_BY(mutex_) = 0;
  std::vector<waiting_queue> waiting_queues_
      LEAT_GUARDED_BY(mutex_);  // by ticket; capacity for all queues is reserved
  std::vector<queue_base*> queues_with_minimum_ LEAT_GUARDED_BY(mutex_);  // queues with a minimum
  const std::string name_;
};

}  // namespace LEAT
