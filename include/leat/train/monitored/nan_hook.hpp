#pragma once

#include <string>
#include <utility>

#include "leat/base/braced.hpp"
#include "leat/train/monitored/session_hook.hpp"

namespace leat {

/// What a nan_hook looks at, and what it does.
struct nan_hook_options {
  braced<std::string> name = "loss";  ///< of the result
  /// False: it requests a stop, with which all ends well, so that the state with which the loss
  /// became NaN is the one that is saved last: for who wants to look at it.
  bool fail_on_nan_loss = true;
};

/// Ends a training whose loss is no number any more.
///
/// Errors: invalid_argument, with the step, when it is none; not_found for a step without such a
///         result, and invalid_argument for one that is no number.
/// TensorFlow: NanTensorHook.
class nan_hook final : public session_hook {
 public:
  explicit nan_hook(nan_hook_options options = {}) : options_(std::move(options)) {}

  [[nodiscard]] task<void> after_run(run_context& run) override;

 private:
  const nan_hook_options options_;
};

}  // namespace leat
