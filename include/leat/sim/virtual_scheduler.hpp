#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "leat/async/loop/internal/asio_context.hpp"
#include "leat/async/scheduler/scheduler_driver.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/sim/simulated_process.hpp"

namespace LEAT::sim {

/// The error of a run in which nothing can run although a task has not finished. what() contains
/// the dump of all live tasks.
class deadlock : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A scheduler on virtual time: an hour of sleeping takes no time, and every run is the same.
///
/// It has no thread; its caller drives it. Time does not move while anything can run, and then
/// jumps to the next timer. It starts at time_point{}. The scheduler does not wait for files or
/// other threads: an item that another thread posts between two calls waits for the next call.
///
/// Thread safety: like scheduler. Call the members that this class adds only on the thread that
///                drives it.
class virtual_scheduler final : public scheduler_driver {
 public:
  virtual_scheduler() : virtual_scheduler(nullptr) {}
  /// Creates a scheduler of `process`, or of a process of its own if `process` is null.
  explicit virtual_scheduler(simulated_process* process);
  ~virtual_scheduler();

  [[nodiscard]] time_point now() const noexcept override { return now_; }

  /// Returns the process of this scheduler, whose time of day and identity can be changed.
  [[nodiscard]] simulated_process& process() noexcept { return process_; }

  [[nodiscard]] bool is_simulated() const noexcept override { return true; }
  void work_started() noexcept override { live_.fetch_add(1, std::memory_order_relaxed); }
  void work_finished() noexcept override { live_.fetch_sub(1, std::memory_order_relaxed); }

  /// Returns the number of live tasks on this scheduler.
  [[nodiscard]] std::size_t live_tasks() const noexcept {
    // Relaxed: read between turns, by the thread that runs them. Those that began count there as
    // one.
    const std::size_t live = live_.load(std::memory_order_relaxed);
    return started_tasks() > 0 ? live + started_tasks() - 1 : live;
  }

  /// Runs the items that can run at this point in time, at most `max_items`. Returns false if
  /// nothing is left to run.
  bool run_now(std::size_t max_items = SIZE_MAX);

  /// Returns true if another thread has posted an item since the last call of ready().
  [[nodiscard]] bool has_new_items() const noexcept { return has_remote_items(); }

  /// Returns the number of items that can run at this point in time, after the timers that are due
  /// have expired.
  [[nodiscard]] std::size_t ready();

  /// Runs one of the items that ready() counts; index 0 is the oldest. A simulation chooses the
  /// order in this way. If the index is always 0, the order is that of every real scheduler.
  void run_one(std::size_t index);

  /// Returns a description of the item with this index, for the schedule of a simulation.
  [[nodiscard]] std::string describe(std::size_t index) const;

  /// Makes timers that are due expire only in expire_timer(). A simulation chooses the order of
  /// timers and items in this way.
  void hold_timers() noexcept { set_turn_timers(0); }

  /// Returns how many timers are candidates to expire next: 0 if none is due, and usually 1, the
  /// earliest. A timer that was set at this point in time, such as the timer of a sleep for
  /// 0, may expire before older ones that are due now: in reality, their times differ by a moment.
  [[nodiscard]] std::size_t due_timers() const noexcept;

  /// Expires one of the timers that due_timers() counts, after hold_timers(). Index 0 is the
  /// earliest.
  void expire_timer(std::size_t index = 0);

  /// Returns a description of the timer with this index, for the schedule of a simulation.
  [[nodiscard]] std::string describe_timer(std::size_t index = 0) const;

  /// Suspends and resumes the current item, for a simulation that runs other schedulers in between.
  /// From suspend_turn() to resume_turn() this scheduler does not run and must not be driven.
  void suspend_turn() noexcept { set_current(nullptr); }
  void resume_turn() noexcept { set_current(this); }

  /// Returns the time of the next timer, or no_deadline if there is none.
  [[nodiscard]] time_point next_event() const noexcept { return timers().earliest(); }

  /// Moves time forward to `t`, for a driver of several schedulers. A `t` in the past has no
  /// effect.
  void advance_to(time_point t) noexcept;

  /// Destroys the tasks of all schedulers of a simulated process, which can then be used again.
  /// Precondition: no scheduler runs on this thread. If a task cannot be destroyed, because code
  /// outside leat uses its frame, the process of the simulation is terminated.
  static void end_process(std::span<virtual_scheduler* const> all);

  /// Runs until nothing is ready and no timer is set.
  void run_until_idle();

  /// Runs until there are no live tasks on this scheduler.
  ///
  /// Errors: deadlock. Before it is thrown, every owner of a task here receives a stop request, and
  ///         the tasks finish. If they do not finish, the process is terminated with the dump.
  void run_to_end();

 private:
  void return_held_items() noexcept override { return_pool(); }
  bool complete_services() noexcept override;
  void wake() noexcept override {}
  void arm(time_point) noexcept override {}
  void return_pool() noexcept;
  [[nodiscard]] std::string describe_live_tasks() const;
  void unwind(const std::string& dump);

  std::vector<work_item*> pool_;  // ready items, oldest first
  time_point now_{};
  std::uint64_t first_order_now_ = 0;  // not above the order of the timers that were set at now_
  simulated_process own_process_{now_};
  simulated_process& process_;
  std::atomic<std::size_t> live_{0};
  leat::detail::simulated_asio_context asio_;
};

/// Runs a task to its end on virtual time, and returns its result or throws its error.
///
///     const int answer = leat::sim::run(my_service());
///
/// Errors: exceptions of the task; deadlock, immediately, if the task waits for something that
///         cannot happen.
template <class T>
T run(task<T> t, std::source_location where = std::source_location::current()) {
  virtual_scheduler sched;
  leat::detail::result_slot<T> slot;
  leat::detail::root_scope scope("sim::run");
  scope.spawn_on(sched, leat::detail::store_result(std::move(t), slot), "", where);
  sched.run_to_end();
  scope.rethrow_error();
  return slot.take();
}

}  // namespace LEAT::sim
