#pragma once

#include <functional>
#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/monitored/step_timer.hpp"

namespace leat {

/// What a logging_hook tells, how often and whom.
struct logging_hook_options {
  braced<std::vector<std::string>> names = {};  ///< results that are numbers; empty: all of them
  step_interval every = {.steps = 100};
  braced<std::function<void(const std::string& line)>> to = {};  ///< without it: to standard error
};

/// Tells results of the first run, and then of one at each interval: "step 100: loss = 0.25".
///
/// Errors: failed_precondition where steps are unknown; not_found for a run without a result that
///         is named. TensorFlow: LoggingTensorHook.
class logging_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval in both or neither, or not above 0.
  explicit logging_hook(logging_hook_options options = {});

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> after_create_session(run_context& run) override;
  [[nodiscard]] task<void> after_run(run_context& run) override;

 private:
  const logging_hook_options options_;
  step_timer timer_;
};

}  // namespace leat
