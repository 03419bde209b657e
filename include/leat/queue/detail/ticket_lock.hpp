#pragma once

#include <cstddef>
#include <deque>

#include "leat/queue/fifo_queue.hpp"

namespace leat::detail {

/// A lock that tasks of one scheduler receive in the order of their tickets. Thread-bound.
class ticket_lock {
 public:
  /// Creates a lock for `tasks` tasks, each with one ticket at a time.
  explicit ticket_lock(std::size_t tasks);
  ~ticket_lock();
  ticket_lock(const ticket_lock&) = delete;
  ticket_lock& operator=(const ticket_lock&) = delete;

  /// Returns a ticket that follows all others.
  [[nodiscard]] std::size_t take_ticket() noexcept { return next_++; }

  /// Returns an awaitable that completes after unlock() of all smaller tickets. Call unlock()
  /// afterwards. Errors: cancelled.
  [[nodiscard]] auto lock(std::size_t ticket) { return turn_of(ticket).pop(); }

  /// Passes the lock to the next ticket.
  void unlock(std::size_t ticket) noexcept;

 private:
  struct turn {};

  // Tickets in use are consecutive, and not more than tasks.
  [[nodiscard]] fifo_queue<turn>& turn_of(std::size_t ticket);

  std::deque<fifo_queue<turn>> turns_;
  std::size_t next_ = 0;
};

}  // namespace leat::detail
