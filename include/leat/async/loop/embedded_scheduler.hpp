#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "leat/async/loop/internal/event_loop_scheduler.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/descriptor.hpp"

namespace LEAT {

/// A scheduler for an event loop of any kind, such as plain epoll, libuv, GLib or the frame loop of
/// a game.
///
/// The loop watches one descriptor and calls run_ready() when the descriptor is readable. leat
/// starts no threads, except to read files if io_uring is unavailable, as in an Asio context.
///
///     leat::embedded_scheduler s;
///     group.spawn_on(s, serve());
///     while (!s.idle()) {      // the loop of the program, with all else that it waits for
///       ::poll(...);           // or epoll, uv_poll_t, g_unix_fd_add: s.descriptor() for input
///       s.run_ready();
///     }
///
/// Thread safety: like scheduler. The members of this class are for one thread at a time, the
/// thread that runs the loop; run_ready() asserts that no other thread is in it.
/// Lifetime: the destructor destroys the tasks that have not finished, and reports each to its
/// owner as cancelled; see docs/lifetimes.md. Do not destroy the scheduler within run_ready(). The
/// child of a fork() shares the descriptors with its parent and must not use the scheduler;
/// run_ready() asserts this. A program started by exec() inherits none of the descriptors.
/// Cost: three descriptors, and one for files on io_uring. A burst of posts is one system call. A
/// turn is two, one more if the earliest timer has changed, and one more if work is left. Allocates
/// only if more timers are set than ever before.
class embedded_scheduler final : public detail::event_loop_scheduler {
 public:
  /// Errors: the errors of the system, such as resource_exhausted for too many open files.
  embedded_scheduler();
  ~embedded_scheduler();

  /// Returns the descriptor to watch. It is readable when run_ready() has something to do:
  ///
  /// - an item was posted, by another thread or by this one outside run_ready();
  /// - a timer is due;
  /// - a file operation has completed;
  /// - the last turn left work behind.
  ///
  /// Occasionally it is readable without a reason; run_ready() then returns immediately.
  ///
  /// The loop may watch it level-triggered or edge-triggered: each of these events is a new edge,
  /// including a turn that leaves work. One call of run_ready() for each event is enough. Do not
  /// read, write or close the descriptor. Thread safety: thread-safe.
  [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }

  /// The work that a turn has left. A loop that watches the descriptor can ignore it.
  struct turn {
    bool more = false;              ///< work that can run now is left: call run_ready() again
    time_point next = no_deadline;  ///< the time of the earliest timer; no_deadline if none is set
  };

  /// Expires all timers that are due, and then runs ready items.
  ///
  /// It runs at most `max_items` items and stops once `max_time` has passed; it checks the clock
  /// after every fourth item. It therefore makes progress even if `max_time` is 0. An item runs a
  /// task up to its next wait, or up to 256 operations that need not wait. Nothing interrupts an
  /// item.
  ///
  /// It never waits and never throws. You may call it at any time, whether the descriptor is
  /// readable or not. It asserts that the caller is not a task and that `max_items` is not 0.
  turn run_ready(std::size_t max_items = 256, time_span max_time = duration::max()) noexcept;

  /// Returns true if no task lives here, no other work such as the closing of a file is in
  /// progress, and no item is left to run. The result stays true until the next spawn or post, so
  /// the loop may end and the scheduler may be destroyed.
  [[nodiscard]] bool idle() const noexcept;

  [[nodiscard]] time_point now() const noexcept override;
  void work_started() noexcept override { work_.fetch_add(1, std::memory_order_relaxed); }
  void work_finished() noexcept override { work_.fetch_sub(1, std::memory_order_relaxed); }

  /// For the I/O layer.
  [[nodiscard]] std::unique_ptr<detail::event_listener> make_listener() override;

 private:
  class listener;

  void wake() noexcept override;
  void arm(time_point when) noexcept override;
  void signal() noexcept;
  void handle_events() noexcept;

  detail::descriptor epoll_;
  detail::descriptor event_;
  detail::descriptor timer_;
  std::atomic<std::size_t> work_{0};
  std::atomic<bool> running_{false};
};

}  // namespace LEAT
