// The weights of a queue's items, and its part in a shared budget.

#include "leat/queue/detail/queue_weight.hpp"

#include <string>

#include "base/internal/append_text.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/memory_budget.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat {
namespace {

const detail::weighed_push& weights_of(const detail::queue_waiter& w) noexcept {
  return *static_cast<const detail::weighed_push*>(w.items_);
}

}  // namespace

// ----------------------------------------------------------------------------------------- weight

void queue_base::throw_if_too_heavy(std::size_t weight) const {
  const bool for_queue = weight > max_weight_;
  if (!for_queue && (!budget_ || weight <= budget_->limit_)) return;
  std::string text;
  detail::append_text(text, "queue '", name_, "': item of weight ", weight, " exceeds the ");
  if (for_queue) {
    detail::append_text(text, "max_weight of ", max_weight_);
  } else {
    detail::append_text(text, "limit of ", budget_->limit_, " of budget '", budget_->name_, "'");
  }
  throw failure(errc::resource_exhausted, text + ": push smaller items or raise the limit");
}

std::size_t queue_base::next_weight(const detail::queue_waiter& w) noexcept {
  return weights_of(w).weight(w.moved_);
}

// Returned items may exceed the maximum together, but not a single one.
bool queue_base::exceeds_limits(std::size_t weight) const noexcept LEAT_NO_ANALYSIS {
  return weight_ > max_weight_ - weight || (budget_ && !budget_->has_space_for(weight));
}

bool queue_base::can_add(std::size_t weight) const noexcept LEAT_NO_ANALYSIS {
  return !exceeds_limits(weight) && !budget_has_waiters();
}

bool queue_base::can_add_next(const detail::queue_waiter& w) const noexcept LEAT_NO_ANALYSIS {
  return !exceeds_limits(next_weight(w)) && (!budget_ || budget_->is_first(weights_of(w).ticket_));
}

// Returns the first waiting push if the number of items does not prevent it; otherwise null.
const detail::queue_waiter* queue_base::first_push_within_capacity() const noexcept {
  const detail::queue_waiter* const w = pushers_.first();
  return w && w->the_role() != detail::queue_waiter::role::close && size_now() < capacity_
             ? w
             : nullptr;
}

// A push that waits for memory and a pop that waits for the minimum size must not wait for each
// other.
bool queue_base::ignores_minimum() const noexcept LEAT_NO_ANALYSIS {
  if (budget_ && budget_->is_stuck()) return true;
  const detail::queue_waiter* const w = first_push_within_capacity();
  return w && exceeds_limits(next_weight(*w));
}

// Returns true if the items that a whole batch waits for cannot enter before the stored items
// leave, and the stored items leave only with the batch.
bool queue_base::can_never_fill_batch(const detail::queue_waiter& w) const noexcept {
  if (size_now() >= w.count_ || !provisional_pops_.empty()) return false;
  const detail::queue_waiter* const push = first_push_within_capacity();
  if (!push || push->is_selected()) return false;  // a branch of a select may leave
  return weight_ > max_weight_ - next_weight(*push);
}

void queue_base::count_weight_returned(std::size_t weight) noexcept LEAT_NO_ANALYSIS {
  count_weight_stored(weight);
  returned_weight_ += weight;
  if (budget_) budget_->returned_ += weight;
}

void queue_base::add_weights_to(queue_statistics& s) const noexcept {
  s.weighed = true;
  s.weight = weight_;
  s.max_weight = max_weight_;
  s.peak_weight = peak_weight_;
  s.returned_weight = returned_weight_;
  if (const detail::queue_waiter* const w = first_push_within_capacity()) {
    s.entering_weight = next_weight(*w);
    s.waits_for_budget = budget_ && weight_ <= max_weight_ - s.entering_weight;
  }
}

// ----------------------------------------------------------------------------------------- budget

void queue_base::take_ticket(detail::queue_waiter& w) noexcept LEAT_NO_ANALYSIS {
  static_cast<detail::weighed_push*>(w.items_)->ticket_ = ++budget_->tickets_;
}

void queue_base::notify_budget(std::size_t stored, std::size_t taken) noexcept LEAT_NO_ANALYSIS {
  if (stored > 0) budget_->stored(stored);
  budget_->used_ -= taken;
}

bool queue_base::budget_has_waiters() const noexcept LEAT_NO_ANALYSIS {
  return budget_ && !budget_->waiting_queues_.empty();
}

bool queue_base::lock_budget() const noexcept LEAT_NO_ANALYSIS { return budget_->mutex_.lock(); }

void queue_base::unlock_budget(bool as_owner) const noexcept LEAT_NO_ANALYSIS {
  budget_->mutex_.unlock(as_owner);
}

// Matches the wait queues, and registers again what the first waiting push needs from the budget.
void queue_base::match_wait_queues_with_budget(work_list& woken) noexcept LEAT_NO_ANALYSIS {
  budget_->remove_waiting(*this);
  work_list own = match_wait_queues();
  woken.append(own);
  const detail::queue_waiter* const w = first_push_within_capacity();
  if (!w) return;
  const std::size_t weight = next_weight(*w);
  if (weight_ <= max_weight_ - weight) budget_->add_waiting({weights_of(*w).ticket_, weight, this});
}

work_list queue_base::match_with_budget() noexcept LEAT_NO_ANALYSIS {
  work_list woken;
  match_wait_queues_with_budget(woken);
  budget_->match_queues(*this, woken);
  return woken;
}

// For the budget, under its lock and that of `locked`.
void queue_base::match_for_budget(queue_base& locked, work_list& woken) noexcept LEAT_NO_ANALYSIS {
  const bool owner = this != &locked && mutex_.lock();
  match_wait_queues_with_budget(woken);
  if (this != &locked) mutex_.unlock(owner);
}

void queue_base::leave_budget(work_list& woken) noexcept LEAT_NO_ANALYSIS {
  budget_->used_ -= weight_;
  budget_->leave(*this);
  budget_->match_queues(*this, woken);
}

}  // namespace leat
