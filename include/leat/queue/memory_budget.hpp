#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "leat/async/work_item.hpp"
#include "leat/base/detail/biased_mutex.hpp"

namespace leat {

class queue_base;

/// What a memory_budget counts; a consistent picture of one moment.
struct budget_statistics {
  std::size_t limit = 0;     ///< weight that may be stored
  std::size_t used = 0;      ///< weight stored now, in all its queues
  std::size_t peak = 0;      ///< most weight ever stored
  std::size_t queues = 0;    ///< queues that share it
  std::size_t waiting = 0;   ///< queues whose first push waits for the budget
  std::size_t awaited = 0;   ///< weight that the first of these wants; 0: nobody waits
  std::size_t returned = 0;  ///< weight that batches held and gave back, above the limit too
};

/// A limit on what several queues hold together, by weight.
///
///     leat::memory_budget ram(512 << 20, "ram");
///     leat::fifo_queue<std::string, by_size> raw({.capacity = 64, .budget = &ram});
///     leat::fifo_queue<image, by_pixels> decoded({.capacity = 16, .budget = &ram});
///
/// A push waits until its item fits into its queue and into the budget; a pop from one queue lets a
/// push to another one go on. The sum of the weights of what is stored in all the queues never
/// exceeds the limit, except by items that a batch held and gave back.
///
/// Order of service: pushes that wait only for the budget resume in the order in which they came,
/// over all queues. The first one blocks the others, also lighter ones. A push that waits for its
/// own queue blocks no push to another queue.
///
/// While somebody waits for the budget, and in a queue whose own weight holds up its first push,
/// a random_shuffle_queue gives items also below its min_after_dequeue: the memory is the harder
/// limit, and else who waits for the memory and who waits for the items could wait for each other.
///
/// It must outlive its queues; its destructor asserts that it did.
///
/// Inside: a queue with a budget changes under the budget's lock and, within that, under its own.
/// Who holds the budget's lock may take the locks of several of its queues; who holds a queue's
/// lock alone takes no other. So operations on queues of one budget come one after the other.
///
/// Thread safety: thread-safe. Cost: a second lock for each operation on its queues, O(queues)
/// where somebody waits. A queue without a budget costs nothing more.
class memory_budget {
 public:
  /// `limit` as the weighers count, such as bytes; `name` for messages and dumps.
  /// Errors: invalid_argument for a limit of 0.
  explicit memory_budget(std::size_t limit, std::string name = {});
  memory_budget(const memory_budget&) = delete;
  memory_budget& operator=(const memory_budget&) = delete;
  ~memory_budget();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  /// Weight stored now, in all its queues.
  [[nodiscard]] std::size_t used() const noexcept { return statistics().used; }

  /// What it counts, at one moment.
  [[nodiscard]] budget_statistics statistics() const noexcept;

  /// "budget 'ram' (3000 of 4096)", for messages and dumps.
  void describe(std::ostream& out) const;

 private:
  friend class queue_base;

  // A queue whose first push fits into the queue and not into the budget.
  struct waiting_queue {
    std::uint64_t ticket;
    std::size_t weight;
    queue_base* queue;
  };

  // Errors: std::bad_alloc; then nothing has happened.
  void join(queue_base& q, bool has_minimum);
  void leave(queue_base& q) noexcept LEAT_REQUIRES(mutex_);

  // -- What its queues ask and tell under its lock.
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
  void append_to(std::string& text) const;  // what describe() writes
  void add_waiting(const waiting_queue& p) noexcept LEAT_REQUIRES(mutex_);
  void remove_waiting(const queue_base& q) noexcept LEAT_REQUIRES(mutex_);

  // Serves the queues whose pushes fit. `locked` is the one whose lock the caller holds.
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

}  // namespace leat
