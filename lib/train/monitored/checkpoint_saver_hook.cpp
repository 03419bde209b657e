#include "leat/train/monitored/checkpoint_saver_hook.hpp"

#include <string>
#include <utility>

#include "leat/async/scheduler.hpp"
#include "leat/base/error.hpp"
#include "leat/train/checkpoint/saver.hpp"

namespace leat {
namespace {

constexpr const char* checkpoint_saver_name = "checkpoint_saver_hook";

}  // namespace

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

}  // namespace leat
