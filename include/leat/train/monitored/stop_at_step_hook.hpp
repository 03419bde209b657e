#pragma once

#include <cstdint>
#include <optional>

#include "leat/train/monitored/session_hook.hpp"

namespace leat {

/// When a stop_at_step_hook stops: exactly one of the two.
struct stop_at_step_hook_options {
  std::optional<std::int64_t> num_steps = {};  ///< from the step of the first session on
  std::optional<std::int64_t> last_step = {};
};

/// Requests a stop behind the run that reaches a step.
///
/// Errors: failed_precondition where steps are unknown.
/// TensorFlow: StopAtStepHook. Unlike there, a job that is there already when it begins runs no
/// more.
class stop_at_step_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for both or neither, or a num_steps below 0.
  explicit stop_at_step_hook(stop_at_step_hook_options options);

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> after_create_session(run_context& run) override;
  [[nodiscard]] task<void> after_run(run_context& run) override;

 private:
  const stop_at_step_hook_options options_;
  std::optional<std::int64_t> last_step_;
};

}  // namespace leat
