#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "leat/base/braced.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/monitored/step_timer.hpp"
#include "leat/train/summary/step_rate.hpp"

namespace leat {

/// What a step_counter_hook counts, and how often it tells.
struct step_counter_hook_options {
  step_interval every = {.steps = 100};
  braced<std::string> name = "global_step";  ///< of the step, to which "/sec" is added
};

/// Writes how many steps are done in a second, as a scalar. The first run starts the clock. Where
/// the step does not move from one run to the next supervisor_options::on_warning is told, five
/// times at most.
///
/// Errors: failed_precondition where steps are unknown, or without a summary writer.
/// TensorFlow: StepCounterHook.
class step_counter_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval in both or neither, or not above 0.
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
