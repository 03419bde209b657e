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

/// Functions that a checkpoint_saver_hook calls around its saves, with their step. Each may be
/// empty.
struct checkpoint_saver_listener {
  braced<std::function<task<void>()>> begin = {};  ///< once, before the first session
  /// Called before each save.
  braced<std::function<task<void>(std::int64_t step)>> before_save = {};
  braced<std::function<task<bool>(std::int64_t step)>> after_save = {};  ///< true requests a stop
  braced<std::function<task<void>(std::int64_t step)>> end = {};         ///< once, if all succeeded
};

/// Options of a checkpoint_saver_hook: when it saves, and which functions it calls.
struct checkpoint_saver_hook_options {
  step_interval every = {.time = std::chrono::seconds(600)};  ///< if empty, only at the end
  bool save_at_end = true;  ///< if the step has changed since the last checkpoint
  braced<std::vector<checkpoint_saver_listener>> listeners = {};  ///< called around each save
};

/// A hook that saves the state after runs, like supervisor::save_between_steps().
///
/// It saves when a session was created whose state does not come from a checkpoint, then at each
/// interval, and at the end.
///
/// Errors: failed_precondition if steps are unknown; invalid_argument for an interval in time with
///         saver_options::rank_directories; errors of save_between_steps().
/// TensorFlow: CheckpointSaverHook. Differs from TensorFlow: a restored state is not saved again.
class checkpoint_saver_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval in both steps and time, or not above 0.
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
