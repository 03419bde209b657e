#pragma once

#include <functional>

#include "leat/base/braced.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/monitored/step_timer.hpp"

namespace leat {

/// What a summary_saver_hook writes, and how often.
struct summary_saver_hook_options {
  step_interval every = {.steps = 100};
  /// Of the run that has just ended; without it, to_summary() of its results.
  braced<std::function<summary(const run_context&)>> summaries = {};
};

/// Writes a summary of the first run, and then of one at each interval: of that run's own results,
/// so that nothing is computed twice, nor beside the step. An empty one is not written.
///
/// Errors: failed_precondition where steps are unknown, or without a summary writer.
/// TensorFlow: SummarySaverHook; the START of a session is written by the supervisor.
class summary_saver_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval in both or neither, or not above 0.
  explicit summary_saver_hook(summary_saver_hook_options options = {});

  /// Each number as a scalar under its name.
  [[nodiscard]] static summary to_summary(const named_values& results);

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> after_create_session(run_context& run) override;
  [[nodiscard]] task<void> after_run(run_context& run) override;

 private:
  const summary_saver_hook_options options_;
  step_timer timer_;
};

}  // namespace leat
