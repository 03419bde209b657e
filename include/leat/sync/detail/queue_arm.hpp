#pragma once

#include <ostream>

#include "leat/core/select.hpp"
#include "leat/sync/detail/queue_awaiter.hpp"

namespace leat::detail {

/// A queue operation that is part of a select.
template <class Queue, class Verb>
class arm<queue_awaiter<Queue, Verb>> {
 public:
  static_assert(Verb::all_or_nothing,
                "push_many cannot be part of a select: half of it may be in when another "
                "operation wins; push the items one by one");

  arm(queue_awaiter<Queue, Verb>& o, selection& s, int index)
      : verb_(o.verb_),
        queue_(o.call_.queue),
        waiter_(o.call_.queue, Verb::the_role, nullptr, 0, s, index, o.call_.where) {}
  arm(const arm&) = delete;
  arm& operator=(const arm&) = delete;
  ~arm() { withdraw(); }

  [[nodiscard]] bool try_now() { return at_once_ = verb_.try_at_once(queue_); }

  [[nodiscard]] bool begin() {
    waiter_.items_ = verb_.items();
    waiter_.count_ = verb_.count();
    return queue_.begin(waiter_) && waiter_.selection_.winner() == waiter_.index_;
  }

  void withdraw() noexcept { static_cast<void>(queue_.abandon(waiter_)); }

  auto result() {
    if (at_once_) return verb_.result(queue_outcome::done, verb_.count());
    waiter_.throw_unless_ended_well();
    return verb_.result(waiter_.outcome_, waiter_.moved_);
  }

  void describe(std::ostream& out) const {
    out << waiter_.what().verb << ' ';
    waiter_.what().describe(waiter_, out);
  }

 private:
  Verb& verb_;
  Queue& queue_;
  selected_queue_waiter waiter_;
  bool at_once_ = false;
};

}  // namespace leat::detail
