#include "train/monitored/hook_list.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/train/monitored/standard_hooks.hpp"
#include "leat/train/summary/add_fullness.hpp"
#include "leat/train/summary/stage_rates.hpp"

namespace LEAT {
namespace {

// Without either: never.
step_interval make_interval(std::int64_t steps, duration time) {
  if (steps > 0) return {.steps = steps};
  if (time > duration::zero()) return {.time = time};
  return {};
}

bool is_set(const step_interval& every) { return every.steps || every.time; }

// Combines the summaries of the run with the summaries of the program and its input.
class combined_summary {
 public:
  explicit combined_summary(const supervisor_options& o)
      : own_(o.summaries), queues_(o.queues), stages_(o.stages) {}

  summary operator()(const run_context& run) {
    summary input;
    const time_point now = scheduler::current()->now();
    if (rates_) {
      input = rates_->sample(now);
    } else if (!stages_.empty()) {
      rates_.emplace(stages_, now);  // the first run has no rate
    }
    add_fullness(input, queues_);
    const summary all[] = {summary_saver_hook::to_summary(run.results()), own_ ? own_() : summary(),
                           input};
    return merge_summaries(all);
  }

 private:
  std::function<summary()> own_;
  std::vector<const queue_base*> queues_;
  std::vector<const stage_metrics*> stages_;
  std::optional<stage_rates> rates_;
};

}  // namespace

detail::hook_list detail::make_hook_list(const monitored_session_options& o, bool knows_steps) {
  hook_list all;
  const supervisor_options& s = o.supervised;
  if (s.is_chief) all = o.chief_only_hooks;
  all.insert(all.end(), o.hooks.begin(), o.hooks.end());
  const bool has_events =
      s.writer || (s.write_events && !(s.logdir.empty() && s.summary_dir.empty()));
  const step_interval summaries = make_interval(o.save_summaries_steps, s.save_summaries_interval);
  if (s.is_chief && has_events && knows_steps && is_set(summaries)) {
    all.push_back(std::make_shared<step_counter_hook>(
        step_counter_hook_options{.every = summaries, .name = s.global_step_name}));
    all.push_back(std::make_shared<summary_saver_hook>(
        summary_saver_hook_options{.every = summaries, .summaries = combined_summary(s)}));
  }
  const step_interval saves = make_interval(o.save_checkpoint_steps, s.save_model_interval);
  if (s.is_chief && s.state && !s.logdir.empty() && (is_set(saves) || s.save_at_end)) {
    all.push_back(std::make_shared<checkpoint_saver_hook>(checkpoint_saver_hook_options{
        .every = saves, .save_at_end = s.save_at_end, .listeners = {}}));
  }
  for (const auto& hook : all) {
    if (!hook) throw failure(errc::invalid_argument, s.name + ": hooks contains a null pointer");
  }
  return all;
}

supervisor_options detail::disable_services(supervisor_options o,
                                            std::function<task<void>()> at_end) {
  o.save_model_interval = o.save_summaries_interval = duration::zero();
  o.summaries = nullptr;
  o.save_at_end = false;
  o.at_end = std::move(at_end);
  return o;
}

}  // namespace LEAT
