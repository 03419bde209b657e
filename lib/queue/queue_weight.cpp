// The weights of a queue's items, and its part in a shared budget.

#include "leat/queue/detail/queue_weight.hpp"

#include <string>

#include "base/internal/append_text.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/memory_budget.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT {
namespace {

const detail::weighed_push& weights_of(const detail::queue_waiter& w) noexcept {
  return *static_cast<const detail::weighed_push*>(w.items_);
}

}  // namespace

// ----------------------------------------------------------------------------------------- weight

void detail::queue_limits::throw_if_too_heavy(std::size_t weight, const std::string& queue) const {
  const bool for_queue = weight > max_weight_;
  if (!for_queue && (!budget_ || weight <= budget_->limit())) return;
  std::string text;
  append_text(text, "queue '", queue, "': item of weight ", weight, " exceeds the ");
  if (for_queue) {
    append_text(text, "max_weight of ", max_weight_);
  } else {
    append_text(text, "limit of ", budget_->limit(), " of budget '", budget_->name(), "'");
  }
  throw failure(errc::resource_exhausted, text + ": push smaller items or raise the limit");
}

void detail::queue_limits::add_to(queue_statistics& s) const noexcept {
  s.weighed = true;
  s.weight = weight_;
  s.max_weight = max_weight_;
  s.peak_weight = peak_weight_;
  s.returned_weight = returned_weight_;
}

std::size_t queue_base::next_weight(const detail::queue_waiter& w) noexcept {
  return weights_of(w).weight(w.moved_);
}

bool queue_base::can_add_next(const detail::queue_waiter& w) const noexcept {
  return limits_.fit(next_weight(w)) && limits_.is_first_for_budget(weights_of(w).ticket_);
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
bool queue_base::ignores_minimum() const noexcept {
  if (limits_.is_budget_stuck()) return true;
  const detail::queue_waiter* const w = first_push_within_capacity();
  return w && !limits_.fit(next_weight(*w));
}

// Returns true if the items that a whole batch waits for cannot enter before the stored items
// leave, and the stored items leave only with the batch.
bool queue_base::can_never_fill_batch(const detail::queue_waiter& w) const noexcept {
  if (size_now() >= w.count_ || !provisional_pops_.empty()) return false;
  const detail::queue_waiter* const push = first_push_within_capacity();
  if (!push || push->is_selected()) return false;  // a branch of a select may leave
  return !limits_.fit_queue(next_weight(*push));
}

void queue_base::add_weights_to(queue_statistics& s) const noexcept {
  limits_.add_to(s);
  if (const detail::queue_waiter* const w = first_push_within_capacity()) {
    s.entering_weight = next_weight(*w);
    s.waits_for_budget = limits_.budget() && limits_.fit_queue(s.entering_weight);
  }
}

// ----------------------------------------------------------------------------------------- budget

void queue_base::take_ticket(detail::queue_waiter& w) noexcept {
  static_cast<detail::weighed_push*>(w.items_)->ticket_ = limits_.take_ticket();
}

// Matches the wait queues, and registers again what the first waiting push needs from the budget.
void queue_base::match_wait_queues_with_budget(work_list& woken) noexcept LEAT_NO_ANALYSIS {
  memory_budget& budget = *limits_.budget();
  // Without its own entry: with it, the first push would never count as the first for the budget,
  // see memory_budget::is_first().
  budget.remove_waiting(*this);
  work_list own = match_wait_queues();
  woken.append(own);
  const detail::queue_waiter* const w = first_push_within_capacity();
  if (!w) return;
  const std::size_t weight = next_weight(*w);
  if (limits_.fit_queue(weight)) budget.add_waiting({weights_of(*w).ticket_, weight, this});
}

work_list queue_base::match_with_budget() noexcept LEAT_NO_ANALYSIS {
  work_list woken;
  match_wait_queues_with_budget(woken);
  limits_.budget()->match_queues(*this, woken);
  return woken;
}

// For the budget, under its lock and that of `locked`.
void queue_base::match_for_budget(queue_base& locked, work_list& woken) noexcept LEAT_NO_ANALYSIS {
  // Two threads cannot wait for each other's queue: only the holder of the budget's lock has
  // several.
  const bool owner = this != &locked && mutex_.lock();
  match_wait_queues_with_budget(woken);
  if (this != &locked) mutex_.unlock(owner);
}

void queue_base::leave_budget(work_list& woken) noexcept LEAT_NO_ANALYSIS {
  memory_budget& budget = *limits_.budget();
  limits_.count_taken(limits_.weight());
  budget.leave(*this);
  budget.match_queues(*this, woken);
}

}  // namespace LEAT
