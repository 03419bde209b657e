#pragma once

// The hooks that leat provides for a monitored_session. Derive your own from session_hook.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/base/clock.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/train/monitored/session_hook.hpp"
#include "leat/train/monitored/step_timer.hpp"
#include "leat/train/summary/step_rate.hpp"

namespace LEAT {

/// Functions that a checkpoint_saver_hook calls around its saves, with their step. Each may be
/// empty.
struct checkpoint_saver_listener {
  option_function<task<void>()> begin = {};  ///< once, before the first session
  /// Called before each save.
  option_function<task<void>(std::int64_t step)> before_save = {};
  option_function<task<bool>(std::int64_t step)> after_save = {};  ///< true requests a stop
  option_function<task<void>(std::int64_t step)> end = {};         ///< once, if all succeeded
};

/// Options of a checkpoint_saver_hook: when it saves, and which functions it calls.
struct checkpoint_saver_hook_options {
  step_interval every = {.time = std::chrono::seconds(600)};  ///< if empty, only at the end
  bool save_at_end = true;  ///< if the step has changed since the last checkpoint
  option_list<checkpoint_saver_listener> listeners = {};  ///< called around each save
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

/// Options of a summary_saver_hook: what it writes, and how often.
struct summary_saver_hook_options {
  step_interval every = {.steps = 100};  ///< see step_timer
  /// Returns the summary of the run that has just finished. If not set, the hook writes
  /// to_summary() of the results of the run.
  option_function<summary(const run_context&)> summaries = {};
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

/// Options of a step_counter_hook: how often it writes, and under which name.
struct step_counter_hook_options {
  step_interval every = {.steps = 100};  ///< see step_timer
  option_string name = "global_step";    ///< the tag without its suffix "/sec"
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

/// Options of a nan_hook: which result it checks, and what it does if the result is NaN.
struct nan_hook_options {
  option_string name = "loss";  ///< the name of the result
  /// Whether NaN is an error. If false, the hook requests a stop, and the session ends without an
  /// error. The state with which the loss became NaN is then saved last, so you can examine it.
  bool fail_on_nan_loss = true;
};

/// A hook that ends the training when the loss becomes NaN.
///
/// Errors: invalid_argument, with the step, if the result is NaN; not_found if the step has no such
///         result; invalid_argument if the type of the result is not arithmetic.
/// TensorFlow: NanTensorHook.
class nan_hook final : public session_hook {
 public:
  explicit nan_hook(nan_hook_options options = {}) : options_(std::move(options)) {}

  [[nodiscard]] task<void> after_run(run_context& run) override;

 private:
  const nan_hook_options options_;
};

/// Options of a logging_hook: which results it logs, how often and where.
struct logging_hook_options {
  option_list<std::string> names = {};   ///< results; if empty, all that are numbers
  step_interval every = {.steps = 100};  ///< see step_timer
  option_function<void(const std::string& line)> to = {};  ///< default: standard error
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

/// A hook that delays the first run until other processes have reached a step, so that workers
/// start one after another.
///
/// It is for programs that share the step with others: supervisor_options::global_step returns it.
/// The hook calls this function again after each interval. A stop request of the session and an
/// immediate stop both end the wait.
///
/// Errors: failed_precondition if steps are unknown; cancelled.
/// TensorFlow: GlobalStepWaiterHook.
class step_waiter_hook final : public session_hook {
 public:
  /// Errors: invalid_argument for an interval that is not above 0.
  explicit step_waiter_hook(std::int64_t wait_until_step,
                            time_span interval = std::chrono::milliseconds(500));

  [[nodiscard]] task<void> begin(supervisor& sv) override;
  [[nodiscard]] task<void> before_run(run_context& run) override;

 private:
  const std::int64_t step_;
  const duration interval_;
  bool reached_ = false;
};

/// The functions that a function_hook calls. Each may be empty.
struct function_hook_options {
  /// Called once, before the first session is opened; see session_hook::begin().
  option_function<task<void>(supervisor&)> begin = {};
  /// Called for each session when its state is ready; see session_hook::after_create_session().
  option_function<task<void>(run_context&)> after_create_session = {};
  /// Called before each step; see session_hook::before_run().
  option_function<task<void>(run_context&)> before_run = {};
  /// Called after each step without an error; see session_hook::after_run().
  option_function<task<void>(run_context&)> after_run = {};
  /// Called once, at the end without an error; see session_hook::end().
  option_function<task<void>(run_context&)> end = {};
};

/// A hook that calls functions, for example to feed inputs or to compute something at the end.
///
///     leat::function_hook_options o;
///     o.before_run = [&](leat::run_context& run) -> leat::task<void> {
///       run.feed("rate", rate_of(run.global_step()));
///       co_return;
///     };
///     hooks.push_back(std::make_shared<leat::function_hook>(o));
///
/// TensorFlow: FeedFnHook, FinalOpsHook.
class function_hook final : public session_hook {
 public:
  explicit function_hook(function_hook_options options) : f_(std::move(options)) {}

  [[nodiscard]] task<void> begin(supervisor& sv) override {
    return f_.begin ? f_.begin(sv) : session_hook::begin(sv);
  }
  [[nodiscard]] task<void> after_create_session(run_context& run) override {
    return f_.after_create_session ? f_.after_create_session(run)
                                   : session_hook::after_create_session(run);
  }
  [[nodiscard]] task<void> before_run(run_context& run) override {
    return f_.before_run ? f_.before_run(run) : session_hook::before_run(run);
  }
  [[nodiscard]] task<void> after_run(run_context& run) override {
    return f_.after_run ? f_.after_run(run) : session_hook::after_run(run);
  }
  [[nodiscard]] task<void> end(run_context& run) override {
    return f_.end ? f_.end(run) : session_hook::end(run);
  }

 private:
  const function_hook_options f_;
};

}  // namespace LEAT
