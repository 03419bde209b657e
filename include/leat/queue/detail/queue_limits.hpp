#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "leat/queue/memory_budget.hpp"
#include "leat/queue/queue_options.hpp"
#include "leat/queue/queue_statistics.hpp"

namespace LEAT::detail {

/// The limits of a queue on the weight of its items: its own, and its share of a memory_budget.
///
/// Guarded by the lock of the queue, except for the constants. What concerns the budget is also
/// guarded by the lock of the budget, which is taken first.
class queue_limits {
 public:
  explicit queue_limits(const queue_options& options) noexcept
      : max_weight_(options.max_weight), budget_(options.budget) {}

  [[nodiscard]] memory_budget* budget() const noexcept { return budget_; }
  [[nodiscard]] std::size_t max_weight() const noexcept { return max_weight_; }
  [[nodiscard]] std::size_t weight() const noexcept { return weight_; }

  /// Returns true if an item of this weight fits into the queue. Returned items may exceed the
  /// maximum together, but not a single one.
  [[nodiscard]] bool fit_queue(std::size_t weight) const noexcept {
    return weight_ <= max_weight_ - weight;
  }
  /// Returns true if such an item also fits into the budget.
  [[nodiscard]] bool fit(std::size_t weight) const noexcept LEAT_NO_ANALYSIS {
    return fit_queue(weight) && (!budget_ || budget_->has_space_for(weight));
  }
  /// Returns true if it also overtakes no push that waits for the budget.
  [[nodiscard]] bool can_add(std::size_t weight) const noexcept {
    return fit(weight) && !budget_has_waiters();
  }
  /// Returns true if a push of any queue waits for the budget.
  [[nodiscard]] bool budget_has_waiters() const noexcept LEAT_NO_ANALYSIS {
    return budget_ && !budget_->waiting_queues_.empty();
  }
  /// Returns true if no push with an earlier ticket waits for the budget.
  [[nodiscard]] bool is_first_for_budget(std::uint64_t ticket) const noexcept LEAT_NO_ANALYSIS {
    return !budget_ || budget_->is_first(ticket);
  }
  /// Returns true if a push waits for the budget, which has no space for it.
  [[nodiscard]] bool is_budget_stuck() const noexcept LEAT_NO_ANALYSIS {
    return budget_ && budget_->is_stuck();
  }
  /// Errors: resource_exhausted for an item that never fits; `queue` is the name of the queue.
  void throw_if_too_heavy(std::size_t weight, const std::string& queue) const;

  void count_stored(std::size_t weight) noexcept LEAT_NO_ANALYSIS {
    weight_ += weight;
    if (weight_ > peak_weight_) peak_weight_ = weight_;
    if (budget_) budget_->stored(weight);
  }
  void count_taken(std::size_t weight) noexcept LEAT_NO_ANALYSIS {
    weight_ -= weight;
    if (budget_) budget_->used_ -= weight;
  }
  /// Counts items that a pop has returned to the queue.
  void count_returned(std::size_t weight) noexcept LEAT_NO_ANALYSIS {
    count_stored(weight);
    returned_weight_ += weight;
    if (budget_) budget_->returned_ += weight;
  }
  void add_to(queue_statistics& s) const noexcept;

  // Precondition of the others: there is a budget.
  [[nodiscard]] std::uint64_t take_ticket() noexcept LEAT_NO_ANALYSIS {
    return ++budget_->tickets_;
  }
  [[nodiscard]] bool lock_budget() const noexcept LEAT_NO_ANALYSIS {
    return budget_->mutex_.lock();
  }
  void unlock_budget(bool as_owner) const noexcept LEAT_NO_ANALYSIS {
    budget_->mutex_.unlock(as_owner);
  }

 private:
  const std::size_t max_weight_;
  memory_budget* const budget_;
  std::size_t weight_ = 0;
  std::size_t peak_weight_ = 0;
  std::size_t returned_weight_ = 0;
};

}  // namespace LEAT::detail
