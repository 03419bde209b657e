#include "leat/train/monitored/standard_hooks.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/internal/standard_error.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/base/error.hpp"
#include "leat/train/checkpoint/saver.hpp"

namespace LEAT {
namespace {

constexpr const char* checkpoint_saver_name = "checkpoint_saver_hook";
constexpr const char* summary_saver_name = "summary_saver_hook";
constexpr const char* step_counter_name = "step_counter_hook";
constexpr const char* stop_at_step_name = "stop_at_step_hook";
constexpr const char* logging_name = "logging_hook";
constexpr const char* step_waiter_name = "step_waiter_hook";
constexpr int max_warnings = 5;

std::string format_number(double number) {
  char text[32];
  const int length = std::snprintf(text, sizeof text, "%.6g", number);
  return std::string(text, static_cast<std::size_t>(length));
}

}  // namespace

// --------------------------------------------------------------------------- checkpoint_saver_hook

checkpoint_saver_hook::checkpoint_saver_hook(checkpoint_saver_hook_options options)
    : options_(std::move(options)) {
  if (options_.every.steps || options_.every.time)
    timer_.emplace(options_.every, checkpoint_saver_name);
}

task<void> checkpoint_saver_hook::begin(supervisor& sv) {
  static_cast<void>(require_step(sv, checkpoint_saver_name));
  for (const checkpoint_saver_listener& l : options_.listeners) {
    if (l.begin) co_await l.begin();
  }
}

task<void> checkpoint_saver_hook::after_create_session(run_context& run) {
  const std::int64_t step = require_step(run.get_supervisor(), checkpoint_saver_name);
  const saver* const with = run.get_supervisor().get_saver();
  if (options_.every.time && with && !with->options().rank_directories.empty()) {
    throw failure(errc::invalid_argument,
                  std::string(checkpoint_saver_name) +
                      ": interval in time with saver.rank_directories would save at different "
                      "steps: set an interval in steps");
  }
  saved_.reset();
  if (!run.get_supervisor().restored_from().empty()) saved_ = step;
  if (!timer_) co_return;
  timer_->done(step, scheduler::current()->now());
  if (!saved_) co_await save(run, step);
}

task<void> checkpoint_saver_hook::after_run(run_context& run) {
  if (!timer_) co_return;
  const std::int64_t step = require_step(run.get_supervisor(), checkpoint_saver_name);
  if (!timer_->take(step, scheduler::current()->now())) co_return;
  co_await save(run, step);
}

task<void> checkpoint_saver_hook::end(run_context& run) {
  const std::int64_t step = require_step(run.get_supervisor(), checkpoint_saver_name);
  if (options_.save_at_end && saved_ != step) co_await save(run, step);
  for (const checkpoint_saver_listener& l : options_.listeners) {
    if (l.end) co_await l.end(step);
  }
}

task<void> checkpoint_saver_hook::save(run_context& run, std::int64_t step) {
  for (const checkpoint_saver_listener& l : options_.listeners) {
    if (l.before_save) co_await l.before_save(step);
  }
  const std::string path = co_await run.get_supervisor().save_between_steps();
  if (path.empty()) co_return;  // another task has begun a step and not completed it
  saved_ = step;
  for (const checkpoint_saver_listener& l : options_.listeners) {
    if (!l.after_save) continue;
    const bool enough = co_await l.after_save(step);
    if (enough) run.request_stop();
  }
}

// ------------------------------------------------------------------------------ summary_saver_hook

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

// ------------------------------------------------------------------------------- step_counter_hook

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

// ------------------------------------------------------------------------------- stop_at_step_hook

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

// ---------------------------------------------------------------------------------------- nan_hook

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

// ------------------------------------------------------------------------------------ logging_hook

logging_hook::logging_hook(logging_hook_options options)
    : options_(std::move(options)), timer_(options_.every, logging_name) {}

task<void> logging_hook::begin(supervisor& sv) {
  static_cast<void>(require_step(sv, logging_name));
  co_return;
}

task<void> logging_hook::after_create_session(run_context&) {
  timer_.reset();
  co_return;
}

task<void> logging_hook::after_run(run_context& run) {
  const std::int64_t step = require_step(run.get_supervisor(), logging_name);
  if (!timer_.take(step, scheduler::current()->now())) co_return;
  std::string line = "step " + std::to_string(step);
  const char* separator = ": ";
  const bool all = options_.names.empty();
  const std::vector<std::string> names =
      all ? run.results().names() : std::vector<std::string>(options_.names);
  for (const std::string& name : names) {
    const std::optional<double> number = run.results().number(name);
    if (!number && all) continue;
    line += separator + name + " = " + (number ? format_number(*number) : "(not numeric)");
    separator = ", ";
  }
  if (options_.to) {
    options_.to(line);
  } else {
    detail::print_stderr("%s\n", line.c_str());
  }
}

// -------------------------------------------------------------------------------- step_waiter_hook

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

}  // namespace LEAT
