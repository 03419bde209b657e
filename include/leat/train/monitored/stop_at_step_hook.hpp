#pragma once

#include <cstdint>
#include <optional>

#include "leat/train/monitored/session_hook.hpp"

namespace leat {

/// Options of a stop_at_step_hook: the step at which it stops. Set exactly one of the two.
struct stop_at_step_hook_options {
  std::optional<std::int64_t> num_steps = {};  ///< after the step of the first session
  std::optional<std::int64_t> last_step = {};  ///< the number of the step
};

/// A hook that requests a stop after the run that reaches a step.
///
/// Errors: failed_precondition if steps are unknown.
/// TensorFlow: StopAtStepHook. Differs from TensorFlow: a job that has already reached the step
///             when it starts does not run another step.
class stop_at_step_hook final : public session_hook {
 public:
  /// Errors: invalid_argument if both options or neither are set, or for a num_steps below 0.
  explicit stop_at_step_hook(stop_at_step_hook_options options);

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> after_create_session(run_context& run) override;
  [[nodiscard]] task<void> after_run(run_context& run) override;

 private:
  const stop_at_step_hook_options options_;
  std::optional<std::int64_t> last_step_;
};

}  // namespace leat
