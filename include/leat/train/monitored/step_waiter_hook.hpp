#pragma once

#include <chrono>
#include <cstdint>

#include "leat/base/clock.hpp"
#include "leat/train/monitored/session_hook.hpp"

namespace leat {

/// A hook that delays the first run until other processes have reached a step, so that workers
/// start one after another.
///
/// It is for programs that share the step with others: supervisor_options::global_step returns it.
/// The hook calls this function again after each interval. A stop request of the session and an
/// immediate stop both end the wait.
///
/// Errors: failed_precondition if steps are unknown; cancelled.
/// TensorFlow: GlobalStepWaiterHook.
class step_waiter_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval that is not above 0.
  explicit step_waiter_hook(std::int64_t wait_until_step,
                            time_span interval = std::chrono::milliseconds(500));

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> before_run(run_context& run) override;

 private:
  const std::int64_t step_;
  const duration interval_;
  bool reached_ = false;
};

}  // namespace leat
