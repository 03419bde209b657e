#include "leat/pipeline/stage/detail/pipeline_context.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "leat/async/sleep.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/coordination/internal/producer_list.hpp"
#include "leat/io/file/match_files.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"
#include "leat/pipeline/stage/detail/any_stage.hpp"

namespace LEAT {

std::vector<scheduler*> schedulers_of(const runtime& rt) {
  std::vector<scheduler*> all;
  for (std::size_t i = 0; i < rt.size(); ++i) all.push_back(&rt.get_scheduler(i));
  return all;
}

namespace detail {
namespace {

// How long `s` has waited for input since it had waited `before`.
duration waited_since(const stage_metrics& s, duration before, time_point now) {
  return s.waited_for_input(now) - before;
}

}  // namespace

task<std::vector<std::string>> find_files(std::vector<std::string> patterns, std::string stage) {
  std::vector<std::string> all;
  for (const std::string& pattern : patterns) {
    std::vector<std::string> one;
    one.push_back(pattern);
    const std::vector<std::string> found = co_await match_files(std::move(one));
    if (found.empty()) {
      throw failure(errc::not_found, "stage '" + stage + "': no file matches '" + pattern + "'");
    }
    all.insert(all.end(), found.begin(), found.end());
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  co_return all;
}

task<std::vector<std::string>> find_tfrecord_files(std::vector<std::string> patterns,
                                                   std::string stage) {
  std::vector<std::string> all = co_await find_files(std::move(patterns), std::move(stage));
  co_return co_await exclude_tfrecord_indexes(std::move(all));
}

void require_files_for(std::uint64_t ranks, std::size_t files, std::string_view stage) {
  if (ranks <= files) return;
  throw failure(errc::invalid_argument, "stage '" + std::string(stage) +
                                            "': " + std::to_string(files) +
                                            " files are not enough for " + std::to_string(ranks) +
                                            " ranks: pass at least one file for each rank");
}

// A context exists as long as its pipeline; one that is destroyed while it runs may last longer,
// see abandon(). start() creates the group that owns the tasks of all stages and the watchdog. The
// task of the consumer is not in this group: the watchdog ends a wait of the consumer only by
// ending the tasks that the consumer waits for. The context belongs to the consumer's scheduler.
// Tasks on workers change only the metrics, the memory in use and `dropped_`, which are
// thread-safe.

pipeline_context::pipeline_context(pipeline_options options)
    : options_(std::move(options)),
      memory_(options_.memory_budget.value_or(0), "pipeline '" + options_.name + "'") {
  const auto throw_options_error = [this](const char* why) {
    throw failure(errc::invalid_argument, "pipeline '" + options_.name + "': " + why);
  };
  if (options_.patience && *options_.patience <= duration::zero()) {
    throw_options_error("patience is not positive: set a positive duration, or leave it unset");
  }
  if (options_.memory_budget == std::size_t{0}) {
    throw_options_error("memory_budget is 0: set at least 1 byte, or leave it unset");
  }
  if (std::ranges::count(options_.workers, nullptr) > 0)
    throw_options_error("workers contains a null pointer: pass pointers to schedulers");
}

pipeline_context::~pipeline_context() = default;

stage_metrics& pipeline_context::add_stage(std::string name, std::size_t least) {
  LEAT_ASSERT(
      !has_started(),
      "stage added to a pipeline that has started: declare all stages before the first next()");
  if (name.empty())
    throw_declaration_error(name, "stage has no name: set a name that is not empty");
  for (const stage_metrics* stage : stages()) {
    if (stage->name() == name)
      throw_declaration_error(name, "another stage has the same name: rename one of them");
  }
  if (memory_.limited()) {
    memory_.require(name, least);
    memory_.add(static_cast<std::int64_t>(least));  // within the limit
  }
  return *stages_.emplace_back(std::make_unique<stage_metrics>(std::move(name)));
}

std::vector<const stage_metrics*> pipeline_context::stages() const {
  std::vector<const stage_metrics*> all;
  for (const auto& stage : stages_) all.push_back(stage.get());
  all.push_back(&consumer_);
  return all;
}

void pipeline_context::throw_declaration_error(std::string_view stage, std::string_view why) const {
  throw failure(errc::invalid_argument, title_of(stage) + ": " + std::string(why));
}

std::string pipeline_context::title_of(std::string_view stage) const {
  return "pipeline '" + options_.name + "', stage '" + std::string(stage) + "'";
}

void pipeline_context::require_savable(std::string_view save_error) const {
  if (save_error.empty()) return;
  throw failure(
      errc::failed_precondition,
      "pipeline '" + options_.name + "' cannot be saved or restored: " + std::string(save_error));
}

void pipeline_context::start() {
  scheduler_ = scheduler::current();
  LEAT_ASSERT(scheduler_ != nullptr, "pipeline used outside a task: call next() in a task");
  group_.emplace(options_.name);
  consumer_.add_task();
  consuming_.emplace(consumer_, *scheduler_);
  if (options_.patience) group_->spawn_on(*scheduler_, watch(*options_.patience), "watchdog");
}

void pipeline_context::spawn(task<void> t, const stage_metrics& stage, std::string_view what) {
  group_->spawn_on(*scheduler_, std::move(t), stage.name() + ' ' + std::string(what));
}

void pipeline_context::spawn_worker(task<void> t, const stage_metrics& stage, std::size_t index) {
  const auto& workers = options_.workers;
  scheduler& where = workers.empty() ? *scheduler_ : *workers[next_worker_++ % workers.size()];
  group_->spawn_on(where, std::move(t), stage.name() + ' ' + std::to_string(index));
}

// Checks periodically whether the consumer has received an element since the last check.
task<void> pipeline_context::watch(duration patience) {
  std::vector<look> before;
  for (;;) {
    before.clear();
    const time_point now = scheduler_->now();
    for (const stage_metrics* s : stages()) {
      before.push_back({s->waited_for_input(now), s->records()});
    }
    const std::uint64_t given = consumer_.records();
    co_await sleep_for(patience);
    // Elements that arrived while this thread was busy reach the consumer first, stage by stage.
    for (std::size_t i = 0; i <= stages_.size(); ++i) co_await this_task::yield();
    // `before.back()` is the consumer, which stages() returns as the last one.
    const bool waits = waited_since(consumer_, before.back().waited, scheduler_->now()) >= patience;
    if (given != consumer_.records() || !waits) continue;
    stall_error_ = std::make_exception_ptr(stall(patience, before));
    group_->request_stop();
    co_return;
  }
}

// Before the consumer the stages wait for each other, back to the stage that causes the stall: it
// produces less than it receives, or receives nothing.
failure pipeline_context::stall(duration patience, const std::vector<look>& before) const {
  const auto all = stages();
  const time_point now = scheduler_->now();
  const auto waits = [&](std::size_t i) {
    const auto tasks = static_cast<duration::rep>(all[i]->tasks());
    return waited_since(*all[i], before[i].waited, now) >=
           patience / 2 * tasks;  // it may not have waited from the start
  };
  const auto produced = [&](std::size_t i) { return all[i]->records() - before[i].records; };
  const auto title = [&](std::size_t i) { return "stage '" + all[i]->name() + "'"; };
  const std::size_t consumer = all.size() - 1;
  std::size_t stalled_stage = consumer;
  while (stalled_stage > 0 && produced(stalled_stage) == 0 && waits(stalled_stage)) --stalled_stage;
  std::string why;
  if (produced(stalled_stage) > 0 && stalled_stage < consumer) {
    const std::size_t next = stalled_stage + 1;
    why = title(stalled_stage) + " produced " + std::to_string(produced(stalled_stage)) +
          " in this time, but " +
          (next == consumer ? "the consumer received none" : title(next) + " produced none");
  } else {
    const bool starves = waits(stalled_stage);
    why = title(stalled_stage) + (starves ? " receives no input" : " makes the other stages wait");
    if (starves && stalled_stage == 0) why += unstarted_producers_text();
  }
  return {errc::deadline_exceeded,
          "pipeline '" + options_.name + "': no element for " +
              std::to_string(std::chrono::duration<double>(patience).count()) + " s: " + why};
}

task<void> pipeline_context::stop_before_element() const {
  const bool is_stopping = elements_are_steps_ && observer_->must_stop();
  if (is_stopping) co_await observer_->wait(false);
  throw failure(errc::cancelled, "pipeline");
}

task<void> pipeline_context::stop() {
  if (!group_) co_return;
  group_->request_stop();
  try {
    co_await group_->join();
  } catch (...) {  // an error of the watchdog, unless a stop of the task has ended it
    if (!stall_error_) stall_error_ = group_->first_error();
  }
  for (const auto& s : stages_) s->set_held(0);
  consuming_.reset();
}

void pipeline_context::wrap_report_handler(
    std::function<void(const corruption_report&)>& on_report) {
  if (!on_report) return;
  if (!may_report_) may_report_ = std::make_shared<bool>(true);
  on_report = [may_report = may_report_,
               guarded = std::move(on_report)](const corruption_report& r) {
    if (*may_report) guarded(r);
  };
}

pimpl<pipeline_context> make_pipeline_context(pipeline_options options) {
  return std::make_unique<pipeline_context>(std::move(options));
}

// `destroyed_` is read first, because reset() ends the context. After release(), the thread that
// waits may return, and the semaphore on its stack ends.
void pipeline_context::destroy(void* context) noexcept {
  std::unique_ptr<pipeline_context> self(static_cast<pipeline_context*>(context));
  std::binary_semaphore* const destroyed = self->destroyed_;
  self->last_ = {};  // before the metrics, which it uses
  self.reset();
  if (destroyed) destroyed->release();
}

// Called by the destructor of a running pipeline, which cannot wait for tasks of its own scheduler.
// If all tasks have ended, the context is destroyed here. If some are left and this thread runs
// their scheduler, the context is destroyed there after the last one. Otherwise this thread waits
// until it is destroyed.
//
// Functions of the program may refer to objects that end together with the pipeline. Therefore, if
// no task on another thread may be calling one, they are destroyed here, even if tasks are left.
void pipeline_context::abandon(pimpl<pipeline_context> context, pimpl<any_stage> last) noexcept {
  scheduler& sched = *context->scheduler_;
  task_group& group = *context->group_;
  context->last_ = std::move(last);
  const bool ended = scope_handover::end_tasks(group, sched);
  if (!ended && scheduler::current() != &sched)
    return context.release()->abandon_on_other_scheduler();
  // In a simulation, a task of another thread may be calling its function.
  if (!scope_handover::has_tasks_elsewhere(group, sched)) {
    context->last_->drop_functions();
    if (context->may_report_) *context->may_report_ = false;
  }
  if (ended) {
    if (scheduler::current() != &sched) context->consuming_->forget();  // `sched` may be gone
    return destroy(context.release());
  }
  pipeline_context& kept = *context.release();
  kept.handover_.emplace(group, sched, &kept, &destroy).start();
}

// The scheduler runs on another thread: it has a task of the pipeline.
void pipeline_context::abandon_on_other_scheduler() noexcept {
  std::binary_semaphore destroyed(0);
  destroyed_ = &destroyed;
  handover_.emplace(*group_, *scheduler_, this, &destroy).start();
  // From here on the context may not exist any more: only `destroyed`, which is on this stack, is
  // used.
  const bool in_time = destroyed.try_acquire_for(std::chrono::seconds(10));
  LEAT_ASSERT(in_time,
              "pipeline destroyed outside its scheduler while its tasks run: destroy it in a task, "
              "or await stop() first");
}

}  // namespace detail
}  // namespace LEAT
