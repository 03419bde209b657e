#pragma once

#include <string>
#include <utility>

#include "leat/base/braced.hpp"
#include "leat/train/monitored/session_hook.hpp"

namespace leat {

/// Options of a nan_hook: which result it checks, and what it does if the result is NaN.
struct nan_hook_options {
  braced<std::string> name = "loss";  ///< the name of the result
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

}  // namespace leat
