#include "leat/train/monitored/stop_at_step_hook.hpp"

#include <cstdint>
#include <limits>

#include "leat/base/error.hpp"

namespace leat {
namespace {

constexpr const char* stop_at_step_name = "stop_at_step_hook";

}  // namespace

stop_at_step_hook::stop_at_step_hook(stop_at_step_hook_options options)
    : options_(options), last_step_(options.last_step) {
  if (options.num_steps.has_value() == options.last_step.has_value()) {
    throw failure(
        errc::invalid_argument,
        "stop_at_step_hook: limit is ambiguous or missing: set either num_steps or last_step");
  }
  if (options.num_steps && *options.num_steps < 0) {
    throw failure(errc::invalid_argument, "stop_at_step_hook: num_steps is " +
                                              std::to_string(*options.num_steps) +
                                              ": set 0 or more");
  }
}

task<void> stop_at_step_hook::begin(supervisor& sv) {
  static_cast<void>(require_step(sv, stop_at_step_name));
  co_return;
}

task<void> stop_at_step_hook::after_create_session(run_context& run) {
  const std::int64_t step = require_step(run.get_supervisor(), stop_at_step_name);
  if (!last_step_) {
    constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
    const std::int64_t more = *options_.num_steps;
    last_step_ = step > never - more ? never : step + more;
  }
  if (step >= *last_step_) run.request_stop();
  co_return;
}

task<void> stop_at_step_hook::after_run(run_context& run) {
  if (require_step(run.get_supervisor(), stop_at_step_name) >= last_step_) run.request_stop();
  co_return;
}

}  // namespace leat
