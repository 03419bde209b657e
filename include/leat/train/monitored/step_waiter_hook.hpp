#pragma once

#include <chrono>
#include <cstdint>

#include "leat/base/clock.hpp"
#include "leat/train/monitored/session_hook.hpp"

namespace leat {

/// Holds back the first run until others have reached a step, so that workers begin one after the
/// other. For programs whose step is not their own: supervisor_options::global_step says where it
/// is. Asks again after each interval; a stop of either kind ends the wait.
///
/// Errors: failed_precondition where steps are unknown; cancelled.
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
