#pragma once

#include <functional>
#include <utility>

#include "leat/base/braced.hpp"
#include "leat/train/monitored/session_hook.hpp"

namespace leat {

/// The functions that a function_hook calls. Each may be empty.
struct function_hook_options {
  /// Called once, before the first session is opened; see session_hook::begin().
  braced<std::function<task<void>(supervisor&)>> begin = {};
  /// Called for each session when its state is ready; see session_hook::after_create_session().
  braced<std::function<task<void>(run_context&)>> after_create_session = {};
  /// Called before each step; see session_hook::before_run().
  braced<std::function<task<void>(run_context&)>> before_run = {};
  /// Called after each step without an error; see session_hook::after_run().
  braced<std::function<task<void>(run_context&)>> after_run = {};
  /// Called once, at the end without an error; see session_hook::end().
  braced<std::function<task<void>(run_context&)>> end = {};
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

}  // namespace leat
