#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "leat/async/loop/detail/event_loop_scheduler.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/detail/descriptor.hpp"

namespace leat {

/// A scheduler for an event loop of any kind: plain epoll, libuv, GLib, the frames of a game.
///
/// The loop watches one descriptor and calls run_ready() when it is readable. No thread is started,
/// but those that read files where io_uring is refused, as in an Asio context.
///
///     leat::embedded_scheduler s;
///     group.spawn_on(s, serve());
///     while (!s.idle()) {      // the loop of the program, with all else that it waits for
///       ::poll(...);           // or epoll, uv_poll_t, g_unix_fd_add: s.descriptor() for input
///       s.run_ready();
///     }
///
/// Thread safety: that of scheduler; its own members are for one thread at a time, the one that
/// runs the loop. Two threads in run_ready() are a caught precondition.
/// Lifetime: its destructor destroys the tasks that have not ended, and reports each to its owner
/// as cancelled; see docs/lifetimes.md. Not to be destroyed from within run_ready(). The child
/// of a fork() shares the descriptors with its parent and must leave the scheduler alone:
/// run_ready() there is a caught precondition. A program that is executed inherits nothing.
/// Cost: three descriptors, and one for files on io_uring. A burst of posts is one system call, a
/// turn is two, and one more if the earliest timer has changed or work is left. Memory is
/// allocated for more timers than ever before, and for nothing else.
class embedded_scheduler final : public detail::event_loop_scheduler {
 public:
  /// Errors: those of the system, such as resource_exhausted for too many open files.
  embedded_scheduler();
  ~embedded_scheduler();

  /// Readable when run_ready() has something to do: an item was posted, by another thread or by
  /// this one outside of run_ready(); a timer is due; a file operation has completed; the last turn
  /// left work behind. Now and then it is readable for nothing: run_ready() then comes back at
  /// once.
  ///
  /// Level and edge triggered watching both work: each of these is a new edge, and so is a turn
  /// that leaves work. One call of run_ready() for each event is enough. Not to be read, written
  /// or closed by anybody else. Thread safety: thread-safe.
  [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }

  /// What a turn has left behind. A loop that watches the descriptor need not look at it.
  struct turn {
    bool more = false;              ///< work that can run now: call again
    time_point next = no_deadline;  ///< when the earliest timer is due; no_deadline: there is none
  };

  /// Makes ready what waits for the timers that are due, all of them, and then runs ready items:
  /// `max_items` at most, and no more once `max_time` has passed, by the clock after every fourth
  /// item. So it always gets on, even in a time of 0. An item is a task's run up to where it waits,
  /// or up to 256 operations that need not wait; nothing interrupts it.
  ///
  /// Never waits and never throws. May be called at any time, readable or not, but not from within
  /// a task: that is a caught precondition, and so are 0 items.
  turn run_ready(std::size_t max_items = 256, time_span max_time = duration::max()) noexcept;

  /// True when no task lives here, no file is being closed, and nothing is left to run. It stays so
  /// until somebody spawns or posts: the loop may end, and the scheduler may be destroyed.
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

}  // namespace leat
