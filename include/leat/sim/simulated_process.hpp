#pragma once

#include <chrono>
#include <utility>

#include "leat/async/scheduler/process_environment.hpp"

namespace LEAT::sim {

/// The process of simulated schedulers: its time of day, its identity and its signals.
///
/// Thread safety: thread-bound to the OS thread of the simulation.
class simulated_process final : public process_environment {
 public:
  /// The time of day starts at 2000-01-01 00:00 UTC and follows the virtual time `now`, which must
  /// outlive this object.
  explicit simulated_process(const time_point& now) noexcept : now_(now) {}
  ~simulated_process() = default;

  [[nodiscard]] wall_time_point wall_time() const noexcept override;
  /// Sets the wall clock forward or back. Timers are not affected.
  void jump_wall_clock(std::chrono::nanoseconds by) noexcept { wall_offset_ += by; }

  /// Returns "sim" and 1, or the identity that was set.
  [[nodiscard]] process_identity identity() const override { return identity_; }
  /// Sets the process as which the program continues, for example another one after a crash.
  void set_identity(process_identity identity) { identity_ = std::move(identity); }

 private:
  const time_point& now_;
  std::chrono::nanoseconds wall_offset_{0};
  process_identity identity_{"sim", 1};
};

}  // namespace LEAT::sim
