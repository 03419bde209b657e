#include "leat/train/monitored/nan_hook.hpp"

#include <cmath>
#include <optional>

#include "leat/base/error.hpp"

namespace leat {

task<void> nan_hook::after_run(run_context& run) {
  const std::optional<double> value = run.results().number(options_.name);
  if (!value) {
    throw failure(errc::invalid_argument, "nan_hook: '" + options_.name + "' is not numeric");
  }
  if (!std::isnan(*value)) co_return;
  const std::optional<std::int64_t> step = run.global_step();
  const std::string where = step ? " at step " + std::to_string(*step) : std::string();
  const std::string what = "NaN loss during training: '" + options_.name + "'" + where;
  if (options_.fail_on_nan_loss) throw failure(errc::invalid_argument, what);
  run.get_supervisor().warn(what + ": stopping");
  run.request_stop();
}

}  // namespace leat
