#include "leat/pipeline/stage/detail/pipeline_context.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "leat/async/sleep.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/assert.hpp"
#include "leat/base/error.hpp"
#include "leat/input/detail/producer_list.hpp"
#include "leat/io/file/match_files.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"

namespace leat {

std::vector<scheduler*> schedulers_of(const runtime& rt) {
  std::vector<scheduler*> all;
  for (std::size_t i = 0; i < rt.size(); ++i) all.push_back(&rt.get_scheduler(i));
  return all;
}

namespace detail {
namespace {

// What `s` has waited for input since it had waited `before`.
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
  throw failure(errc::invalid_argument,
                "stage '" + std::string(stage) + "': " + std::to_string(files) + " files for " +
                    std::to_string(ranks) + " ranks: one would have nothing to read");
}

task<void> yield_if_due() {
  scheduler::current()->yield_turn();  // timers and files too, not only who is ready
  co_await this_task::yield();
  const bool stopped = co_await this_task::stop_requested();  // g++ 12 errs with it in the if
  if (stopped) throw failure(errc::cancelled, "pipeline");
}

pipeline_core::pipeline_core(pipeline_options options)
    : options_(std::move(options)),
      memory_(options_.memory_budget.value_or(0), "pipeline '" + options_.name + "'") {
  const auto refuse_options = [this](const char* why) {
    throw failure(errc::invalid_argument, "pipeline '" + options_.name + "': " + why);
  };
  if (options_.patience && *options_.patience <= duration::zero()) {
    refuse_options("give a patience above 0, or none");
  }
  if (options_.memory_budget == std::size_t{0}) {
    refuse_options("give a memory_budget above 0, or none");
  }
  if (std::ranges::count(options_.workers, nullptr) > 0) refuse_options("one worker is null");
}

stage_metrics& pipeline_core::add_stage(std::string name, std::size_t least) {
  LEAT_ASSERT(!has_started(),
              "a stage is added to a pipeline that has run: declare all stages before next()");
  if (name.empty()) refuse(name, "give the stage a name");
  for (const stage_metrics* stage : stages()) {
    if (stage->name() == name) refuse(name, "there are two stages of that name: rename one");
  }
  if (memory_.limited()) {
    memory_.require(name, least);
    memory_.add(static_cast<std::int64_t>(least));  // within the limit
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
  throw failure(errc::invalid_argument, title_of(stage) + ": " + std::string(why));
}

std::string pipeline_core::title_of(std::string_view stage) const {
  return "pipeline '" + options_.name + "', stage '" + std::string(stage) + "'";
}

void pipeline_core::require_no(std::string_view obstacle) const {
  if (obstacle.empty()) return;
  throw failure(
      errc::failed_precondition,
      "pipeline '" + options_.name + "' cannot be saved or restored: " + std::string(obstacle));
}

void pipeline_core::start() {
  scheduler_ = scheduler::current();
  LEAT_ASSERT(scheduler_ != nullptr, "a pipeline runs in a task: call next() in one");
  turn_began_ = looked_at_ = scheduler_->now();
  group_.emplace(options_.name);
  consumer_.add_task();
  consuming_.emplace(consumer_, *scheduler_);
  if (options_.patience) group_->spawn_on(*scheduler_, watch(*options_.patience), "watchdog");
}

bool pipeline_core::turn_is_over() noexcept {
  const time_point now = scheduler_->now();
  if (now - turn_began_ < turn) return false;
  turn_began_ = now;
  return true;
}

bool pipeline_core::look_at_clock() noexcept {
  const time_point now = scheduler_->now();
  const bool slow = now - looked_at_ >= std::chrono::milliseconds(1);
  looked_at_ = now;
  elements_a_look_ = slow ? 1 : std::min<std::size_t>(2 * elements_a_look_, 16);
  elements_to_look_ = elements_a_look_;
  return now - turn_began_ >= turn;
}

void pipeline_core::spawn(task<void> t, const stage_metrics& stage, std::string_view what) {
  group_->spawn_on(*scheduler_, std::move(t), stage.name() + ' ' + std::string(what));
}

void pipeline_core::spawn_worker(task<void> t, const stage_metrics& stage, std::size_t index) {
  const auto& workers = options_.workers;
  scheduler& where = workers.empty() ? *scheduler_ : *workers[next_worker_++ % workers.size()];
  group_->spawn_on(where, std::move(t), stage.name() + ' ' + std::to_string(index));
}

// Looks once in a while whether the consumer has got anything since the last look.
task<void> pipeline_core::watch(duration patience) {
  std::vector<look> before;
  for (;;) {
    before.clear();
    const time_point now = scheduler_->now();
    for (const stage_metrics* s : stages()) {
      before.push_back({s->waited_for_input(now), s->records()});
    }
    const std::uint64_t given = consumer_.records();
    co_await sleep_for(patience);
    // What came while this thread was busy reaches the consumer first, one stage after the other.
    for (std::size_t i = 0; i <= stages_.size(); ++i) co_await this_task::yield();
    const bool waits = waited_since(consumer_, before.back().waited, scheduler_->now()) >= patience;
    if (given != consumer_.records() || !waits) continue;
    stalled_ = std::make_exception_ptr(stall(patience, before));
    group_->request_stop();
    co_return;
  }
}

// Before the consumer the stages wait for each other, back to the one that is to blame: one that
// gives less than it gets, or gets nothing.
failure pipeline_core::stall(duration patience, const std::vector<look>& before) const {
  const auto all = stages();
  const time_point now = scheduler_->now();
  const auto waits = [&](std::size_t i) {
    const auto tasks = static_cast<duration::rep>(all[i]->tasks());
    return waited_since(*all[i], before[i].waited, now) >=
           patience / 2 * tasks;  // maybe not from the start
  };
  const auto gave = [&](std::size_t i) { return all[i]->records() - before[i].records; };
  const auto title = [&](std::size_t i) { return "stage '" + all[i]->name() + "'"; };
  const std::size_t consumer = all.size() - 1;
  std::size_t blamed = consumer;
  while (blamed > 0 && gave(blamed) == 0 && waits(blamed)) --blamed;
  std::string why;
  if (gave(blamed) > 0 && blamed < consumer) {
    const std::size_t next = blamed + 1;
    why = title(blamed) + " gave " + std::to_string(gave(blamed)) + " in that time, of which " +
          (next == consumer ? "none has come to the consumer" : title(next) + " has made none yet");
  } else {
    const bool starves = waits(blamed);
    why = (starves ? "nobody feeds " : "all wait for ") + title(blamed);
    if (starves && blamed == 0) why += unstarted_producers_text();
  }
  return {errc::deadline_exceeded,
          "pipeline '" + options_.name + "': no element for " +
              std::to_string(std::chrono::duration<double>(patience).count()) + " s: " + why};
}

task<void> pipeline_core::stop_before_element() const {
  const bool is_stopping = elements_are_steps_ && observer_->must_stop();
  if (is_stopping) co_await observer_->wait(false);
  throw failure(errc::cancelled, "pipeline");
}

task<void> pipeline_core::stop() {
  if (!group_) co_return;
  group_->request_stop();
  try {
    co_await group_->join();
  } catch (...) {  // of the watchdog: those of stages go through their queues
    if (!stalled_) stalled_ = std::current_exception();
  }
  for (const auto& s : stages_) s->set_held(0);
  consuming_.reset();
}

void pipeline_core::guard_reports(std::function<void(const corruption_report&)>& on_report) {
  if (!on_report) return;
  if (!may_report_) may_report_ = std::make_shared<bool>(true);
  on_report = [may_report = may_report_,
               guarded = std::move(on_report)](const corruption_report& r) {
    if (*may_report) guarded(r);
  };
}

void pipeline_core::destroy(void* core) noexcept {
  std::unique_ptr<pipeline_core> self(static_cast<pipeline_core*>(core));
  std::binary_semaphore* const destroyed = self->destroyed_;
  self->last_.reset();  // before the metrics that it uses
  self.reset();
  if (destroyed) destroyed->release();
}

void pipeline_core::abandon(std::unique_ptr<pipeline_core> core,
                            std::unique_ptr<any_stage> last) noexcept {
  scheduler& sched = *core->scheduler_;
  task_group& group = *core->group_;
  core->last_ = std::move(last);
  const bool ended = scope_handover::end_tasks(group, sched);
  if (!ended && scheduler::current() != &sched) return core.release()->abandon_on_other_scheduler();
  // In a simulation, a task of another thread may be within a call of its function.
  if (!scope_handover::has_tasks_elsewhere(group, sched)) {
    core->last_->drop_functions();
    if (core->may_report_) *core->may_report_ = false;
  }
  if (ended) {
    if (scheduler::current() != &sched) core->consuming_->forget();  // `sched` may be gone
    return destroy(core.release());
  }
  pipeline_core& kept = *core.release();
  kept.handover_.emplace(group, sched, &kept, &destroy).start();
}

// The scheduler runs on another thread: it has a task of the pipeline.
void pipeline_core::abandon_on_other_scheduler() noexcept {
  std::binary_semaphore destroyed(0);
  destroyed_ = &destroyed;
  handover_.emplace(*group_, *scheduler_, this, &destroy).start();
  const bool in_time = destroyed.try_acquire_for(std::chrono::seconds(10));
  LEAT_ASSERT(in_time,
              "pipeline destroyed outside its scheduler while its tasks run: destroy it in a task, "
              "or await stop() first");
}

}  // namespace detail
}  // namespace leat
