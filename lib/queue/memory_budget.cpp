#include "leat/queue/memory_budget.hpp"

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>

#include "base/append_text.hpp"
#include "leat/base/assert.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat {

memory_budget::memory_budget(std::size_t limit, std::string name)
    : limit_(limit), name_(std::move(name)) {
  if (limit == 0) {
    throw failure(errc::invalid_argument,
                  "budget '" + name_ + "': a limit of 0 lets nothing in; use 1 or more");
  }
}

memory_budget::~memory_budget() {
  const detail::biased_lock lock(mutex_);
  LEAT_ASSERT(queues_ == 0,
              "a memory budget was destroyed before a queue that shares it: declare it first");
}

// ------------------------------------------------------------------------------------ its queues

void memory_budget::join(queue_base& q, bool keeps_minimum) {
  const detail::biased_lock lock(mutex_);
  line_.reserve(queues_ + 1);  // later nothing may fail
  if (keeps_minimum) keepers_.push_back(&q);
  ++queues_;
}

void memory_budget::leave(queue_base& q) noexcept {
  --queues_;
  keepers_.erase(std::remove(keepers_.begin(), keepers_.end(), &q), keepers_.end());
}

void memory_budget::wait(const place& p) noexcept {
  const auto later = [](const place& a, const place& b) { return a.ticket < b.ticket; };
  line_.insert(std::upper_bound(line_.begin(), line_.end(), p, later), p);
}

void memory_budget::stop_waiting(const queue_base& q) noexcept {
  const auto is_its = [&q](const place& p) { return p.queue == &q; };
  line_.erase(std::remove_if(line_.begin(), line_.end(), is_its), line_.end());
}

// Each round moves an item, or takes one out of line that a select has given up.
void memory_budget::serve(queue_base& locked, work_list& woken) noexcept {
  do {
    while (!line_.empty() && has_room(line_.front().weight)) {
      line_.front().queue->serve_within(locked, woken);
    }
  } while (!line_.empty() && make_room(locked, woken));
}

// Lets queues give what they keep back as their minimum. True: that made room.
bool memory_budget::make_room(queue_base& locked, work_list& woken) noexcept {
  const std::size_t before = used_;
  for (queue_base* const q : keepers_) {
    q->serve_within(locked, woken);
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
  s.waiting = line_.size();
  s.awaited = line_.empty() ? 0 : line_.front().weight;
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

}  // namespace leat
