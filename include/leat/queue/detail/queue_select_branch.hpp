#pragma once

#include <ostream>
#include <source_location>
#include <system_error>
#include <utility>

#include "leat/async/select.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/detail/queue_awaiter.hpp"

namespace leat::detail {

template <class Queue, class Operation>
inline constexpr bool undoable<queue_awaiter<Queue, Operation>> =
    Operation::the_role > queue_waiter::role::close;

/// A queue operation that is part of a select.
template <class Queue, class Operation>
class select_branch<queue_awaiter<Queue, Operation>> {
 public:
  select_branch(queue_awaiter<Queue, Operation>&& o, select_state& s, int index) noexcept
      : select_branch(o.call_.queue, std::move(o.operation_), s, index, o.call_.where) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch(unstarted.queue_, std::move(unstarted.operation_), s, index,
                      unstarted.waiter_.where()) {}
  select_branch(const select_branch&) = delete;
  select_branch& operator=(const select_branch&) = delete;
  ~select_branch() { withdraw(); }

  [[nodiscard]] bool is_empty_operation() const noexcept { return operation_.count() == 0; }
  [[nodiscard]] bool try_complete() { return at_once_ = operation_.try_complete(queue_); }

  [[nodiscard]] bool begin() {
    begun_ = true;
    waiter_.items_ = operation_.items();
    return queue_.begin(waiter_) && waiter_.select_state_.winner() == waiter_.index_;
  }

  // Like begin(), for a pop next to an operation that cannot be undone: if the pop wins with items,
  // commit() or undo() follows, and undo() cannot fail.
  [[nodiscard]] bool begin_provisional()
    requires(Operation::the_role >= queue_waiter::role::pop)
  {
    begun_ = true;
    waiter_.items_ = operation_.items();
    return queue_.begin_provisional(waiter_) && waiter_.select_state_.winner() == waiter_.index_;
  }
  void commit() noexcept {
    if (waiter_.is_provisional()) queue_.commit(waiter_);
  }

  void withdraw() noexcept {
    if (!begun_) return;
    begun_ = false;
    static_cast<void>(queue_.abandon(waiter_));
  }

  // Returns the items of a pop to the queue.
  void undo() noexcept {
    begun_ = false;  // the queue may be destroyed
    if (at_once_) {
      waiter_.items_ = operation_.items();
      waiter_.set_done();
    }
    if (!waiter_.undo_unread()) {
      static_cast<void>(operation_.result(waiter_.outcome_, waiter_.moved_));
    }
  }

  auto result() {
    if (at_once_) return operation_.result(queue_outcome::done, operation_.count());
    begun_ = false;  // the queue may be destroyed
    waiter_.throw_on_failure();
    return operation_.result(waiter_.outcome_, waiter_.moved_);
  }

  // Withdrawn. Its last item may have been added after it had lost; then it is complete.
  void interrupt(const limit_end& by) noexcept
    requires(!Operation::all_or_nothing)
  {
    waiter_.ended_by_ = &by;
    waiter_.outcome_ = waiter_.moved_ == waiter_.count_     ? queue_outcome::done
                       : by.code == errc::deadline_exceeded ? queue_outcome::late
                                                            : queue_outcome::cancelled;
  }
  auto tuple() noexcept
    requires(!Operation::all_or_nothing)
  {
    if (at_once_) waiter_.set_done();
    return finish(operation_, waiter_.outcome_, waiter_.moved_, waiter_.error());
  }

  void describe(std::ostream& out) const {
    out << waiter_.what().verb << ' ';
    waiter_.what().describe(waiter_, out);
  }

 private:
  select_branch(Queue& q, Operation&& operation, select_state& s, int index,
                const std::source_location& where) noexcept
      : operation_(std::move(operation)),
        queue_(q),
        waiter_(q, Operation::the_role, nullptr, operation_.count(), s, index, where) {}

  Operation operation_;
  Queue& queue_;
  selected_queue_waiter waiter_;
  bool at_once_ = false;
  bool begun_ = false;
};

}  // namespace leat::detail
