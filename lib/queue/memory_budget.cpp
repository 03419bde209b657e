#include "leat/queue/memory_budget.hpp"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include "base/internal/append_text.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT {

// waiting_queues_ has one entry for each queue whose first push waits for nothing but the budget,
// the earliest ticket first. A queue replaces its own entry whenever it matches its wait queues, so
// the entries are correct whenever the lock of the budget is free.
memory_budget::memory_budget(std::size_t limit, std::string name)
    : limit_(limit), name_(std::move(name)) {
  if (limit == 0) {
    throw failure(errc::invalid_argument, "budget '" + name_ + "': limit is 0: use 1 or more");
  }
}

memory_budget::~memory_budget() {
  const detail::biased_lock lock(mutex_);
  LEAT_ASSERT(queues_ == 0,
              "memory budget destroyed before a queue that shares it: declare the budget first");
}

// ------------------------------------------------------------------------------------ its queues

void memory_budget::join(queue_base& q, bool has_minimum) {
  const detail::biased_lock lock(mutex_);
  waiting_queues_.reserve(queues_ + 1);  // later calls must not fail
  if (has_minimum) queues_with_minimum_.push_back(&q);
  ++queues_;
}

void memory_budget::leave(queue_base& q) noexcept {
  --queues_;
  queues_with_minimum_.erase(
      std::remove(queues_with_minimum_.begin(), queues_with_minimum_.end(), &q),
      queues_with_minimum_.end());
}

void memory_budget::add_waiting(const waiting_queue& p) noexcept {
  const auto later = [](const waiting_queue& a, const waiting_queue& b) {
    return a.ticket < b.ticket;
  };
  waiting_queues_.insert(std::upper_bound(waiting_queues_.begin(), waiting_queues_.end(), p, later),
                         p);
}

void memory_budget::remove_waiting(const queue_base& q) noexcept {
  const auto is_of_queue = [&q](const waiting_queue& p) { return p.queue == &q; };
  waiting_queues_.erase(std::remove_if(waiting_queues_.begin(), waiting_queues_.end(), is_of_queue),
                        waiting_queues_.end());
}

// Each round moves an item, or removes an operation from its wait queue after its select has ended.
void memory_budget::match_queues(queue_base& locked, work_list& woken) noexcept {
  do {
    while (!waiting_queues_.empty() && has_space_for(waiting_queues_.front().weight)) {
      // Replaces the entry, and so changes the list that this loop looks at.
      waiting_queues_.front().queue->match_for_budget(locked, woken);
    }
  } while (!waiting_queues_.empty() && release_minimums(locked, woken));
}

// Lets queues deliver the items of their minimum size. Returns true if that freed memory.
bool memory_budget::release_minimums(queue_base& locked, work_list& woken) noexcept {
  const std::size_t before = used_;
  for (queue_base* const q : queues_with_minimum_) {
    q->match_for_budget(locked, woken);
    if (used_ != before) return true;
  }
  return false;
}

// ------------------------------------------------------------------------------------- questions

budget_statistics memory_budget::statistics() const noexcept {
  const detail::biased_lock lock(mutex_);
  budget_statistics s;
  s.limit = limit_;
  s.used = used_;
  s.peak = peak_;
  s.queues = queues_;
  s.waiting = waiting_queues_.size();
  s.awaited = waiting_queues_.empty() ? 0 : waiting_queues_.front().weight;
  s.returned = returned_;
  return s;
}

void memory_budget::describe(std::ostream& out) const {
  std::string text;
  append_to(text);
  out << text;
}

void memory_budget::append_to(std::string& text) const {
  const budget_statistics s = statistics();
  detail::append_text(text, "budget '", name_, "' (", s.used, " of ", s.limit, ")");
}

}  // namespace LEAT
