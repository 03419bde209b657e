#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "leat/async/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"

namespace leat::sim {

/// Nothing can run any more and the task has not ended. what() is the dump of all live tasks.
class deadlock : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A scheduler on virtual time: an hour of sleeping takes no time, and every run is the same.
///
/// It has no thread. Whoever calls it drives it; time stands still while anything can run and then
/// jumps to the next timer. It starts at time_point{}. It knows of no file and no other thread: an
/// item that another thread posts while it is not driven waits for the next call.
///
/// Thread safety: that of scheduler; its own members are for the thread that drives it.
class virtual_scheduler final : public scheduler {
 public:
  virtual_scheduler() = default;
  ~virtual_scheduler();

  [[nodiscard]] time_point now() const noexcept override { return now_; }

  /// The time of day, which may jump; begins at 2000-01-01 00:00 UTC.
  [[nodiscard]] wall_time_point wall_time() const noexcept override;
  /// Sets the clock on the wall forward, or back. Timers do not notice.
  void jump_wall_clock(std::chrono::nanoseconds by) noexcept { wall_offset_ += by; }

  [[nodiscard]] process_identity identity() const override { return identity_; }
  /// As which process the program goes on: another one, say, after a crash.
  void set_identity(process_identity identity) { identity_ = std::move(identity); }

  [[nodiscard]] bool is_simulated() const noexcept override { return true; }
  void work_started() noexcept override { live_.fetch_add(1, std::memory_order_relaxed); }
  void work_finished() noexcept override { live_.fetch_sub(1, std::memory_order_relaxed); }

  /// Tasks that live here.
  [[nodiscard]] std::size_t live_tasks() const noexcept {
    // Relaxed: read between turns, by the thread that runs them. Those that began count there as
    // one.
    const std::size_t live = live_.load(std::memory_order_relaxed);
    return started_tasks() > 0 ? live + started_tasks() - 1 : live;
  }

  /// Runs what can run at this point in time, at most `max_items`. False: nothing is left to run.
  bool run_now(std::size_t max_items = SIZE_MAX);

  /// How many items can run at this point in time.
  [[nodiscard]] std::size_t ready();

  /// Runs one of them, counted from the oldest. For a simulation, which decides about the order;
  /// with 0 it is that of every real scheduler.
  void run_one(std::size_t index);

  /// What that item is, for the schedule of a simulation.
  [[nodiscard]] std::string describe(std::size_t index) const;

  /// For a simulation that runs other schedulers in the midst of an item of this one: from
  /// suspend_turn() to resume_turn() this one does not run, and must not be driven.
  void suspend_turn() noexcept { set_current(nullptr); }
  void resume_turn() noexcept { set_current(this); }

  /// The time of the next timer; no_deadline when there is none.
  [[nodiscard]] time_point next_event() const noexcept { return next_timer(); }

  /// Lets time jump to `t`, for a driver of several schedulers. A `t` in the past changes nothing.
  void advance_to(time_point t) noexcept;

  /// Runs until nothing is ready and no timer is set.
  void run_until_idle();

  /// Runs until no task lives here.
  /// Errors: deadlock. Before it is thrown, every owner with a task here was asked to stop and the
  /// tasks have ended; if they do not, the process ends with the dump.
  void run_to_end();

 private:
  void return_held_items() noexcept override { return_pool(); }
  void wake() noexcept override {}
  void arm(time_point) noexcept override {}
  void return_pool() noexcept;
  [[nodiscard]] std::string describe_live_tasks() const;
  void unwind(const std::string& dump);

  std::vector<work_item*> pool_;  // ready items, oldest first
  time_point now_{};
  std::chrono::nanoseconds wall_offset_{0};
  process_identity identity_{"sim", 1};
  std::atomic<std::size_t> live_{0};
};

/// Runs a task to its end on virtual time; gives its result or throws its error.
///
///     const int answer = leat::sim::run(my_service());
///
/// Errors: what the task throws; deadlock, at once, when it waits for something that cannot come.
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

}  // namespace leat::sim
