#include "leat/train/monitored/step_counter_hook.hpp"

#include <utility>

#include "leat/async/scheduler.hpp"

namespace leat {
namespace {

constexpr const char* step_counter_name = "step_counter_hook";
constexpr int max_warnings = 5;

}  // namespace

step_counter_hook::step_counter_hook(step_counter_hook_options options)
    : options_(std::move(options)), timer_(options_.every, step_counter_name) {}

task<void> step_counter_hook::begin(supervisor& sv) {
  static_cast<void>(require_step(sv, step_counter_name));
  co_return;
}

// The steps counted so far may be repeated.
task<void> step_counter_hook::after_create_session(run_context&) {
  timer_.reset();
  rate_.reset();
  last_.reset();
  co_return;
}

task<void> step_counter_hook::after_run(run_context& run) {
  supervisor& sv = run.get_supervisor();
  const std::int64_t step = require_step(sv, step_counter_name);
  if (std::exchange(last_, step) == step && warnings_ < max_warnings) {
    ++warnings_;
    sv.warn("run() did not increase '" + options_.name + "', which is still " +
            std::to_string(step));
  }
  const time_point now = scheduler::current()->now();
  if (!timer_.take(step, now)) co_return;
  if (!rate_) {
    rate_.emplace(now, step, options_.name);
    co_return;
  }
  summary s = rate_->sample(now, step);
  co_await sv.summary_computed(std::move(s), step);
}

}  // namespace leat
