#pragma once

#include <functional>

#include "leat/base/braced.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/monitored/step_timer.hpp"

namespace leat {

/// Options of a summary_saver_hook: what it writes, and how often.
struct summary_saver_hook_options {
  step_interval every = {.steps = 100};  ///< see step_timer
  /// Returns the summary of the run that has just finished. If not set, the hook writes
  /// to_summary() of the results of the run.
  braced<std::function<summary(const run_context&)>> summaries = {};
};

/// A hook that writes a summary of the first run, and then of one run at each interval.
///
/// It uses the results of that run itself, so nothing is computed twice or outside of the step. An
/// empty summary is not written.
///
/// Errors: failed_precondition if steps are unknown, or without a summary writer.
/// TensorFlow: SummarySaverHook. Differs from TensorFlow: the supervisor writes the START of a
///             session.
class summary_saver_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval in both steps and time or in neither, or not above 0.
  explicit summary_saver_hook(summary_saver_hook_options options = {});

  /// Returns a summary that contains each number as a scalar under its name.
  [[nodiscard]] static summary to_summary(const named_values& results);

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> after_create_session(run_context& run) override;
  [[nodiscard]] task<void> after_run(run_context& run) override;

 private:
  const summary_saver_hook_options options_;
  step_timer timer_;
};

}  // namespace leat
