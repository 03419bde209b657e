#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/clock.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/decision_source.hpp"
#include "leat/sim/world/world_options.hpp"
#include "leat/sim/world_part.hpp"
#include "sim/world/schedule_log.hpp"
#include "sim/world/simulated_thread.hpp"

namespace LEAT::sim {

/// Executes the steps of a world, one after another, in an order that its decisions determine.
///
/// A run alternates between steps and jumps of time. Each step() executes one of all the things
/// that can happen now: a timer that is due expires, a thread runs an item, or a part completes an
/// operation. If nothing can happen, advance() moves the time to the next event; if there is none
/// while tasks are live, the run is a deadlock.
///
/// Everything that is not determined by the program is a decision, whose option 0 is the usual
/// case: the sources take turns, and nothing fails, is slow or is pre-empted. So a script of zeros
/// is a plain schedule, to which shrink() reduces a failure as far as possible.
///
/// Cost: a step that touches one thread costs one load for each of the others.
/// Thread safety: none.
class step_engine {
 public:
  step_engine(decision_source& decisions, allocation_faults& memory, const world_options& options)
      : decisions_(decisions), memory_(memory), preemption_(options.preemption) {}

  void add_thread(simulated_thread& t);
  /// `name`: of the part in the schedule.
  void add_part(world_part& part, std::string name);
  [[nodiscard]] const std::vector<simulated_thread*>& threads() const noexcept { return threads_; }
  [[nodiscard]] schedule_log& log() noexcept { return log_; }

  [[nodiscard]] time_point now() const noexcept { return now_; }
  [[nodiscard]] const time_point& clock() const noexcept { return now_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

  /// Runs one step of a thread or of a part. Returns false if nothing can run.
  bool step();
  /// Advances time to the next event. Returns false if there is none.
  bool advance();
  /// The clock of a host has changed.
  void clock_changed() noexcept;

  [[nodiscard]] std::size_t live_tasks() const noexcept;
  [[nodiscard]] std::string describe_live_tasks() const;
  [[nodiscard]] bool any_preempted() const noexcept;
  /// Resumes all pre-empted threads, and pre-empts none until allow_preemption().
  void end_preemption();
  void allow_preemption() noexcept { preempting_ = true; }

  /// Adds a line to the schedule, if it is recorded.
  void note(const std::string& where, const std::string& what);

 private:
  struct entry {
    world_part* part;
    std::string name;
    std::size_t due = 0;  // as of `asked`
    time_point asked = no_deadline;
  };

  [[nodiscard]] std::size_t due(entry& e) const;
  [[nodiscard]] unsigned choose_preemption_point();
  template <class Describe, class Step>
  void run_program(simulated_thread& t, Describe describe, Step run);
  void expire_timer(simulated_thread& t, std::size_t index);
  void run_thread(simulated_thread& t, std::size_t item);
  void complete(entry& e, std::size_t index);
  [[nodiscard]] std::string take_fault_text();

  decision_source& decisions_;
  allocation_faults& memory_;
  const double preemption_;
  schedule_log log_;
  time_point now_{};
  std::vector<simulated_thread*> threads_;
  std::vector<entry> parts_;
  bool preempting_ = true;
  std::uint64_t steps_ = 0;
  std::vector<std::size_t> ready_;  // ready items of each thread, then of each part
  std::size_t last_ = 0;            // index in ready_ of the last step
};

}  // namespace LEAT::sim
