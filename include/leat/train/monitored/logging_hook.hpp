#pragma once

#include <functional>
#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/monitored/step_timer.hpp"

namespace leat {

/// Options of a logging_hook: which results it logs, how often and where.
struct logging_hook_options {
  braced<std::vector<std::string>> names = {};  ///< results; if empty, all that are numbers
  step_interval every = {.steps = 100};         ///< see step_timer
  braced<std::function<void(const std::string& line)>> to = {};  ///< default: standard error
};

/// A hook that logs results of the first run, and then of one run at each interval, in the form
/// "step 100: loss = 0.25".
///
/// Errors: failed_precondition if steps are unknown; not_found if a run lacks a result that the
///         options name.
/// TensorFlow: LoggingTensorHook.
class logging_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval in both steps and time or in neither, or not above 0.
  explicit logging_hook(logging_hook_options options = {});

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> after_create_session(run_context& run) override;
  [[nodiscard]] task<void> after_run(run_context& run) override;

 private:
  const logging_hook_options options_;
  step_timer timer_;
};

}  // namespace leat
