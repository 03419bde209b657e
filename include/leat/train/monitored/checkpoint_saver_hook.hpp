#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/monitored/step_timer.hpp"

namespace leat {

/// Told of the saves of a checkpoint_saver_hook, with their step; each function may be left out.
struct checkpoint_saver_listener {
  braced<std::function<task<void>()>> begin = {};  ///< once, before the first session
  braced<std::function<task<void>(std::int64_t step)>> before_save = {};
  braced<std::function<task<bool>(std::int64_t step)>> after_save = {};  ///< true: request a stop
  braced<std::function<task<void>(std::int64_t step)>> end = {};  ///< once, when all went well
};

/// When a checkpoint_saver_hook saves.
struct checkpoint_saver_hook_options {
  step_interval every = {.time = std::chrono::seconds(600)};  ///< neither: only at the end
  bool save_at_end = true;  ///< where the step has moved on since the last checkpoint
  braced<std::vector<checkpoint_saver_listener>> listeners = {};
};

/// Saves the state behind runs, as supervisor::save_between_steps(): when a session was created
/// whose state is that of no checkpoint, then at each interval, and at the end.
///
/// Errors: failed_precondition where steps are unknown; invalid_argument for an interval in time
///         with saver_options::rank_directories; those of save_between_steps().
/// TensorFlow: CheckpointSaverHook. Unlike there, a state that was restored is not saved once more.
class checkpoint_saver_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval in both, or not above 0.
  explicit checkpoint_saver_hook(checkpoint_saver_hook_options options = {});

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> after_create_session(run_context& run) override;
  [[nodiscard]] task<void> after_run(run_context& run) override;
  [[nodiscard]] task<void> end(run_context& run) override;

 private:
  [[nodiscard]] task<void> save(run_context& run, std::int64_t step);

  const checkpoint_saver_hook_options options_;
  std::optional<step_timer> timer_;
  std::optional<std::int64_t> saved_;
};

}  // namespace leat
