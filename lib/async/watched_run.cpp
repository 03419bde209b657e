#include "async/internal/watched_run.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <unistd.h>

#include "async/internal/live_tasks_text.hpp"
#include "async/scheduler/scheduler_records.hpp"
#include "base/internal/never_destroyed.hpp"
#include "leat/async/detail/task_local_node.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"

namespace LEAT::detail {

// In one step, so that a watcher misses no report and sees none twice.
void scheduler_records::remove(const scheduler_record& record) noexcept {
  const std::lock_guard lock(mutex());
  if (record.run_) watched_run::keep_report(record);
  vacate(record);
}

scheduler_record::~scheduler_record() {
  scheduler_records::remove(*this);
  delete run_;
}

constinit std::atomic<int> watched_run::watchers{0};
constinit std::atomic<std::int64_t> watched_run::long_turn{INT64_MAX};

std::list<watched_run::late_report>& watched_run::late_reports() noexcept {
  static never_destroyed<std::list<late_report>> instance;  // its constructor needs no memory
  return instance.get();
}

void watched_run::keep_report(const scheduler_record& record) noexcept {
  constexpr std::size_t most = 64;
  const std::lock_guard lock(record.run_->mutex_);
  if (record.run_->last_.run == 0 || watchers.load(std::memory_order_relaxed) == 0) return;
  std::list<late_report>& late = late_reports();
  try {
    late.push_back({record.serial_, record.number_, record.run_->last_});
    if (late.size() > most) late.pop_front();
  } catch (const std::bad_alloc&) {  // the end of the run is not reported
  }
}

namespace {

pid_t number_of_this_thread() noexcept {
  thread_local const pid_t number = ::gettid();
  return number;
}

// Of a counter that only this thread writes.
template <class Number>
void write_counter(Number& counter, Number value) noexcept {
  __atomic_store_n(&counter, value, __ATOMIC_RELAXED);
}

// Of a task on this thread. Empty if one of them cannot be printed.
std::vector<std::pair<std::string, std::string>> values_of(const task_context& task) noexcept try {
  std::vector<std::pair<std::string, std::string>> values;
  task_local_node::each_named(
      task.locals(), [&](const task_local_node& n) { values.emplace_back(n.name(), n.text()); });
  return values;
} catch (...) {
  return {};
}

}  // namespace

// Of the process: simulated schedulers, whose turns take no virtual time, are not watched.
time_point watched_run::now() noexcept { return std::chrono::steady_clock::now(); }

bool watched_run::begin(const task_context& task) noexcept {
  // relaxed: a run that is missed or watched in vain does no harm.
  if (watchers.load(std::memory_order_relaxed) == 0) return false;
  scheduler& sched = task.get_scheduler();
  if (sched.is_simulated()) return false;
  scheduler_record& record = sched.record();
  if (!record.run_) {
    auto* const made = new (std::nothrow) watched_run;
    if (!made) return false;
    // release: pairs with scheduler_records::each_run().
    __atomic_store_n(&record.run_, made, __ATOMIC_RELEASE);
  }
  record.run_->begin_here(task);
  return true;
}

// acquire: pairs with begin().
watched_run* watched_run::of(const scheduler_record& record) noexcept {
  return __atomic_load_n(&record.run_, __ATOMIC_ACQUIRE);
}

void watched_run::begin_here(const task_context& task) {
  const std::lock_guard lock(mutex_);
  if (task_) {
    ++depth_;
    return;
  }
  task_ = &task;
  ++run_;
  begin_ = now();
  thread_ = number_of_this_thread();
  if (const std::size_t turn = task.get_scheduler().turn_number(); turn != turn_) {
    turn_ = turn;
    turn_begin_ = begin_;
    is_turn_counted_ = false;
  }
  place_count_ = 0;
  if (const wait_operation* const w = task.waiting()) {
    places_[place_count_++] = {w->where(), w->what().verb};
  }
  for (const promise_base* p = task.innermost_; p && p->parent(); p = p->parent()) {
    if (place_count_ == max_places) break;
    if (p->where().line() != 0) places_[place_count_++] = {p->where()};
  }
}

void watched_run::end(const task_context& task, bool has_ended) noexcept {
  scheduler_record& record = task.get_scheduler().record();
  record.run_->end_here(task, has_ended, record);
}

void watched_run::end_here(const task_context& task, bool has_ended,
                           scheduler_record& record) noexcept {
  const time_point end = now();
  const std::int64_t limit = long_turn.load(std::memory_order_relaxed);
  // Only this thread writes depth_ and begin_. The program prints the values, so without the lock.
  const duration lasted = end - begin_;
  const bool is_long = depth_ == 0 && lasted.count() >= limit;
  std::vector<std::pair<std::string, std::string>> values;
  if (is_long && !has_ended) values = values_of(task);
  const std::lock_guard lock(mutex_);
  if (depth_ > 0) {
    --depth_;
    return;
  }
  write_counter(record.busy_, record.busy_ + std::int64_t{lasted.count()});
  const std::int64_t turn_lasted = (end - turn_begin_).count();
  write_counter(record.longest_, std::max(record.longest_, turn_lasted));
  if (turn_lasted >= limit && !is_turn_counted_) {
    is_turn_counted_ = true;
    write_counter(record.long_turns_, record.long_turns_ + 1);
  }
  if (is_long) {
    try {
      last_ = describe(lasted);
      last_.has_ended = true;
      last_.values = std::move(values);
      const wait_operation* const w = has_ended ? nullptr : task.waiting();
      last_.until = w ? place{w->where(), w->what().verb} : place{};
    } catch (const std::bad_alloc&) {
      last_ = {};  // the end of this run is not reported
    }
  }
  task_ = nullptr;
}

// The counters are written with the lock, so a run counts either as one in progress or as ended.
void watched_run::add_times(const scheduler_record& record, scheduler_counts& counts) noexcept {
  watched_run* const run = of(record);
  if (!run) return;
  const std::lock_guard lock(run->mutex_);
  scheduler_records::add_times(record, counts);
  if (!run->task_) return;
  const time_point time = now();
  counts.turn = time - run->turn_begin_;
  counts.busy += time - run->begin_;
  counts.longest_turn = std::max(counts.longest_turn, counts.turn);
  const bool is_long = counts.turn.count() >= long_turn.load(std::memory_order_relaxed);
  if (is_long && !run->is_turn_counted_) ++counts.long_turns;
}

std::optional<watched_run::running> watched_run::find_running(const scheduler_record& record) {
  watched_run* const run = of(record);
  if (!run) return std::nullopt;
  const std::lock_guard lock(run->mutex_);
  if (!run->task_) return std::nullopt;
  return running{name_of(*run->task_), now() - run->begin_, run->thread_};
}

watched_run::report watched_run::describe(duration lasted) const {
  return {run_,
          task_->id(),
          name_of(*task_),
          task_->spawned_at(),
          {places_.begin(), places_.begin() + place_count_},
          lasted,
          thread_};
}

}  // namespace LEAT::detail
