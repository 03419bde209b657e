#include "leat/pipeline/detail/pipeline_core.hpp"

#include <utility>

#include "leat/core/assert.hpp"
#include "leat/core/error.hpp"

namespace leat {

std::vector<scheduler*> schedulers_of(const runtime& rt) {
  std::vector<scheduler*> all;
  for (std::size_t i = 0; i < rt.size(); ++i) all.push_back(&rt.get_scheduler(i));
  return all;
}

namespace detail {

void require_files(const std::vector<std::string>& found, const std::vector<std::string>& patterns,
                   std::string_view stage) {
  if (!found.empty()) return;
  std::string text = "stage '" + std::string(stage) + "': no file matches";
  for (const std::string& pattern : patterns) text += " '" + pattern + "'";
  throw failure(errc::not_found, text);
}

pipeline_core::pipeline_core(pipeline_options options) : options_(std::move(options)) {}

stage_metrics& pipeline_core::add_stage(std::string name) {
  if (name.empty()) refuse(name, "give the stage a name");
  for (const stage_metrics* stage : stages()) {
    if (stage->name() == name) refuse(name, "there are two stages of that name: rename one");
  }
  return *stages_.emplace_back(std::make_unique<stage_metrics>(std::move(name)));
}

std::vector<const stage_metrics*> pipeline_core::stages() const {
  std::vector<const stage_metrics*> all;
  for (const auto& stage : stages_) all.push_back(stage.get());
  all.push_back(&consumer_);
  return all;
}

void pipeline_core::refuse(std::string_view stage, std::string_view why) const {
  throw failure(errc::invalid_argument, "pipeline '" + options_.name + "', stage '" +
                                            std::string(stage) + "': " + std::string(why));
}

void pipeline_core::start() {
  home_ = scheduler::current();
  LEAT_ASSERT(home_ != nullptr, "a pipeline runs in a task: call next() in one");
  group_.emplace(options_.name);
  consumer_.add_task();
  consuming_.emplace(consumer_, *home_);
}

void pipeline_core::spawn(task<void> t, const stage_metrics& stage, std::string_view what) {
  group_->spawn_on(*home_, std::move(t), stage.name() + ' ' + std::string(what));
}

void pipeline_core::spawn_worker(task<void> t, const stage_metrics& stage, std::size_t index) {
  const auto& workers = options_.workers;
  scheduler& where = workers.empty() ? *home_ : *workers[index % workers.size()];
  group_->spawn_on(where, std::move(t), stage.name() + ' ' + std::to_string(index));
}

task<void> pipeline_core::stop() {
  if (!group_) co_return;
  group_->request_stop();
  co_await group_->join();
  consuming_.reset();
}

}  // namespace detail
}  // namespace leat
