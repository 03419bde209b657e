#pragma once

#include <memory>
#include <vector>

#include "leat/async/blocking/internal/blocking_calls.hpp"
#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/base/clock.hpp"
#include "leat/sim/decision_source.hpp"
#include "leat/sim/virtual_scheduler.hpp"

namespace LEAT::sim {

/// The functions of run_blocking() on one simulated thread. The world decides how long each waits
/// for a thread of its pool and how long it runs, and when in a turn it is called.
///
/// Thread safety: none.
class simulated_calls final : public leat::detail::blocking_calls {
 public:
  simulated_calls(decision_source& decisions, virtual_scheduler& sched) noexcept;
  ~simulated_calls() override;

  [[nodiscard]] bool take(leat::detail::blocking_call& call) noexcept override;
  [[nodiscard]] bool drop(leat::detail::blocking_call& call) noexcept override;
  /// Executes the functions that run, soon: the process of the scheduler ends.
  void end_process() noexcept;

 private:
  struct alarm;

  static void expired(leat::timer& t) noexcept;
  [[nodiscard]] duration latency();

  decision_source& decisions_;
  virtual_scheduler& scheduler_;
  std::vector<std::unique_ptr<alarm>> alarms_;
};

/// The functions of run_blocking() on the threads of a host.
class simulated_call_part final {
 public:
  explicit simulated_call_part(decision_source& decisions) noexcept : decisions_(decisions) {}

  void install(virtual_scheduler& thread);
  void end_process() noexcept;

 private:
  decision_source& decisions_;
  std::vector<std::unique_ptr<simulated_calls>> calls_;  // of each thread
};

}  // namespace LEAT::sim
