#include "leat/train/monitored/summary_saver_hook.hpp"

#include <optional>
#include <string>
#include <utility>

#include "leat/async/scheduler.hpp"

namespace leat {
namespace {

constexpr const char* summary_saver_name = "summary_saver_hook";

}  // namespace

summary_saver_hook::summary_saver_hook(summary_saver_hook_options options)
    : options_(std::move(options)), timer_(options_.every, summary_saver_name) {}

summary summary_saver_hook::to_summary(const named_values& results) {
  summary s;
  for (const std::string& name : results.names()) {
    if (const std::optional<double> n = results.number(name)) s.add_scalar(name, *n);
  }
  return s;
}

task<void> summary_saver_hook::begin(supervisor& sv) {
  static_cast<void>(require_step(sv, summary_saver_name));
  co_return;
}

task<void> summary_saver_hook::after_create_session(run_context&) {
  timer_.reset();
  co_return;
}

task<void> summary_saver_hook::after_run(run_context& run) {
  const std::int64_t step = require_step(run.get_supervisor(), summary_saver_name);
  if (!timer_.take(step, scheduler::current()->now())) co_return;
  summary s = options_.summaries ? options_.summaries(run) : to_summary(run.results());
  if (!s.values.empty()) co_await run.get_supervisor().summary_computed(std::move(s), step);
}

}  // namespace leat
