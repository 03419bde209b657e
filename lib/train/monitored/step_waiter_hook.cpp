#include "leat/train/monitored/step_waiter_hook.hpp"

#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/base/error.hpp"

namespace leat {
namespace {

constexpr const char* step_waiter_name = "step_waiter_hook";

}  // namespace

step_waiter_hook::step_waiter_hook(std::int64_t wait_until_step, time_span interval)
    : step_(wait_until_step), interval_(interval) {
  if (interval > duration::zero()) return;
  throw failure(errc::invalid_argument,
                "step_waiter_hook: interval is not positive: set a positive interval");
}

task<void> step_waiter_hook::begin(supervisor& sv) {
  static_cast<void>(require_step(sv, step_waiter_name));
  co_return;
}

task<void> step_waiter_hook::before_run(run_context& run) {
  while (!reached_) {
    reached_ = require_step(run.get_supervisor(), step_waiter_name) >= step_;
    if (!reached_) co_await with_stop(sleep_for(interval_), run.get_stop_token());
  }
}

}  // namespace leat
