#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "leat/sim/virtual_scheduler.hpp"
#include "sim/world/host_clock.hpp"
#include "sim/world/simulated_turn.hpp"

namespace LEAT::sim {

/// A simulated thread: its scheduler, and its turn, which may be suspended in the middle.
class simulated_thread {
 public:
  simulated_thread(simulated_process& process, const host_clock& clock, std::string name)
      : sched(&process), clock_(clock), name_(std::move(name)) {
    sched.hold_timers();
  }

  /// The name in the schedule, such as "thread 0".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const host_clock& clock() const noexcept { return clock_; }

  /// Returns the number of items that can run.
  [[nodiscard]] std::size_t ready() {
    if (is_paused_) return due_timers_ = 0;
    if (!changed_ && !sched.has_new_items()) return ready_;
    changed_ = false;
    ready_ = turn.is_suspended() ? 1 : sched.ready();
    due_timers_ = turn.is_suspended() ? 0 : sched.due_timers();
    return ready_;
  }
  /// Returns the number of timers that may expire next, as of the last call of ready(). A thread
  /// that is pre-empted expires its timers after its item.
  [[nodiscard]] std::size_t due_timers() const noexcept { return due_timers_; }
  /// Runs the rest of a turn that is suspended.
  void finish_turn() {
    if (!turn.is_suspended()) return;
    turn.resume(0);
    changed_ = true;
  }
  /// The thread has run, or its time has moved.
  void changed() noexcept { changed_ = true; }
  /// A paused thread does not run.
  void set_paused(bool paused) noexcept {
    is_paused_ = paused;
    changed_ = true;
  }
  /// Returns the time of the world at which its next timer is due.
  [[nodiscard]] time_point next_event() const noexcept {
    return is_paused_ ? no_deadline : clock_.world_time_of(sched.next_event());
  }

  virtual_scheduler sched;
  simulated_turn turn{sched};

 private:
  const host_clock& clock_;
  const std::string name_;
  std::size_t ready_ = 0;
  std::size_t due_timers_ = 0;
  bool changed_ = true;
  bool is_paused_ = false;
};

}  // namespace LEAT::sim
