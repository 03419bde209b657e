#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "leat/base/braced.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/monitored/step_timer.hpp"
#include "leat/train/summary/step_rate.hpp"

namespace leat {

/// Options of a step_counter_hook: how often it writes, and under which name.
struct step_counter_hook_options {
  step_interval every = {.steps = 100};      ///< see step_timer
  braced<std::string> name = "global_step";  ///< the tag without its suffix "/sec"
};

/// A hook that writes the number of steps per second as a scalar. The first run starts the clock.
///
/// If the step does not change from one run to the next, the hook calls
/// supervisor_options::on_warning, at most five times.
///
/// Errors: failed_precondition if steps are unknown, or without a summary writer.
/// TensorFlow: StepCounterHook.
class step_counter_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval in both steps and time or in neither, or not above 0.
  explicit step_counter_hook(step_counter_hook_options options = {});

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> after_create_session(run_context& run) override;
  [[nodiscard]] task<void> after_run(run_context& run) override;

 private:
  const step_counter_hook_options options_;
  step_timer timer_;
  std::optional<step_rate> rate_;
  std::optional<std::int64_t> last_;
  int warnings_ = 0;
};

}  // namespace leat
