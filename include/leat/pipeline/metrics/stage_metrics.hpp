#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/clock.hpp"
#include "leat/pipeline/metrics/detail/span_clock.hpp"

namespace LEAT {

/// The metrics of a stage of a pipeline: the records that passed through it, how long its tasks
/// existed, and how long these waited for input and for free capacity in their output. Times are
/// sums over all tasks of the stage.
///
/// A time without `now` has only the spans that have ended. With `now`, the current time, it also
/// has the spans in progress, for example of a task that has waited since it started.
///
/// Thread safety: thread-safe; reading never waits for the stage.
class stage_metrics {
 public:
  explicit stage_metrics(std::string name) : name_(std::move(name)) {}
  stage_metrics(const stage_metrics&) = delete;
  stage_metrics& operator=(const stage_metrics&) = delete;

  /// Returns the name of the stage.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Counts records that passed through the stage, and their bytes if these are known.
  void add(std::uint64_t records, std::uint64_t bytes) noexcept {
    // relaxed here and below: counters, which order nothing else.
    add(records);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (!knows_bytes()) knows_bytes_.store(true, std::memory_order_relaxed);
  }
  void add(std::uint64_t records) noexcept {
    records_.fetch_add(records, std::memory_order_relaxed);
  }
  /// Counts bytes at the end of a file that are not a complete record, and were skipped.
  void add_left_over(std::uint64_t bytes) noexcept {
    left_over_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// Sets the capacity of a stage that holds elements. The unit, also of add_held() and set_held(),
  /// is elements, or blocks if the stage passes on whole blocks.
  void set_capacity(std::uint64_t items) noexcept {
    capacity_.store(items, std::memory_order_relaxed);
  }
  void add_held(std::int64_t items) noexcept { held_.fetch_add(items, std::memory_order_relaxed); }
  void set_held(std::int64_t items) noexcept { held_.store(items, std::memory_order_relaxed); }
  /// Counts a task that shares the work of the stage.
  void add_task() noexcept { tasks_.fetch_add(1, std::memory_order_relaxed); }
  /// Counts time that a task of the stage waited for input; see `stage_wait_timer`.
  void add_input_wait(duration d) noexcept { input_.add(d); }
  /// Counts time that a task of the stage waited for free capacity in its output.
  void add_output_wait(duration d) noexcept { output_.add(d); }

  /// Returns the number of records that passed through the stage.
  [[nodiscard]] std::uint64_t records() const noexcept { return get(records_); }
  /// Returns the number of bytes of these records; see knows_bytes().
  [[nodiscard]] std::uint64_t bytes() const noexcept { return get(bytes_); }
  /// Returns true if bytes were counted for any record.
  [[nodiscard]] bool knows_bytes() const noexcept {
    return knows_bytes_.load(std::memory_order_relaxed);
  }
  /// Returns the number of bytes at the ends of files that are not a complete record, if the reader
  /// allows these; see reader_statistics::left_over. A file counts each time its end is reached.
  [[nodiscard]] std::uint64_t left_over() const noexcept { return get(left_over_); }
  /// Returns the capacity of the stage, or 0 if it holds nothing from one call to the next.
  [[nodiscard]] std::uint64_t capacity() const noexcept { return get(capacity_); }
  /// Returns the number of elements or blocks that the stage holds now.
  [[nodiscard]] std::uint64_t held() const noexcept {
    const std::int64_t items = held_.load(std::memory_order_relaxed);
    return items > 0 ? static_cast<std::uint64_t>(items) : 0;  // what goes may be counted first
  }
  /// Returns the number of tasks that share the work. All times are sums over these tasks.
  [[nodiscard]] std::uint64_t tasks() const noexcept { return get(tasks_); }
  /// Returns the time that tasks of the stage waited for input.
  [[nodiscard]] duration waited_for_input(std::optional<time_point> now = {}) const noexcept;
  /// Returns the time that tasks of the stage waited for free capacity in their output.
  [[nodiscard]] duration waited_for_output(std::optional<time_point> now = {}) const noexcept;
  /// Returns true if the stage can wait for free capacity in its output, for example in a full
  /// queue. A stage without tasks of its own never waits for it.
  [[nodiscard]] bool knows_output_wait() const noexcept { return output_.used(); }
  /// Returns true if it is known how long the tasks existed; see `stage_work_timer`.
  [[nodiscard]] bool knows_work_time() const noexcept { return work_.used(); }
  /// Returns the time that tasks of the stage existed, waiting or not.
  [[nodiscard]] duration work_time(std::optional<time_point> now = {}) const noexcept;

 private:
  friend class stage_work_timer;
  friend class stage_wait_timer;
  using counter = std::atomic<std::uint64_t>;

  static std::uint64_t get(const counter& c) noexcept { return c.load(std::memory_order_relaxed); }

  const std::string name_;
  counter records_{0};
  counter bytes_{0};
  counter left_over_{0};
  counter tasks_{0};
  counter capacity_{0};
  std::atomic<std::int64_t> held_{0};
  std::atomic<bool> knows_bytes_{false};
  detail::span_clock input_;
  detail::span_clock output_;
  detail::span_clock work_;
};

/// A timer for one wait of a stage: from construction to stop(), or to destruction if the wait
/// throws.
///
///     stage_wait_timer w(metrics, sched, stage_wait_timer::for_output);
///     co_await queue.push_many(items);
///     w.stop();
///
/// Thread safety: thread-bound.
/// Cost:          reads the clock of `sched` twice.
class stage_wait_timer {
 public:
  /// The kind of a wait, which is always for another stage. Waiting for a device counts as the work
  /// of a reader.
  enum kind { for_input, for_output };

  stage_wait_timer(stage_metrics& stage, scheduler& sched, kind k) noexcept
      : span_(k == for_input ? stage.input_ : stage.output_, sched) {}

  /// Ends the wait and counts it. Further calls have no effect.
  void stop() noexcept { span_.stop(); }

 private:
  detail::timed_span span_;
};

/// A timer for the time that a task of a stage exists, from construction to destruction. Create it
/// in the first line of the task, or of each of its steps. A stage without this timer counts as
/// existing all the time, and therefore as busy even if it ended long before the others.
///
/// Thread safety: thread-bound.
/// Cost:          reads the clock of `sched` twice.
class stage_work_timer {
 public:
  stage_work_timer(stage_metrics& stage, scheduler& sched) noexcept : span_(stage.work_, sched) {}

  /// Ends the measurement without reading the clock of a scheduler that may be gone.
  void forget() noexcept { span_.forget(); }

 private:
  detail::timed_span span_;
};

/// Returns one sentence that names the bottleneck of a pipeline. Pass the stages in order from
/// source to consumer.
///
/// The bottleneck is the stage that is busy nearly all the time: stages before it wait for free
/// capacity, stages after it for input. A task is busy while it exists and does not wait. Stages
/// within ten percentage points of the busiest one are named with it.
///
/// If no stage is busy half of the time, for example because tasks share a thread, the bottleneck
/// may be whatever feeds the first stage or empties the last one. Otherwise it is the stage that
/// does two thirds of the work or for which all others wait. If there is no such stage, the queues
/// between the stages are too small. A stage through which nothing has passed is named before all
/// others.
///
/// `elapsed` is the time that the pipeline has run. Pass `now` for a pipeline that still runs, so
/// that waits in progress count too.
[[nodiscard]] std::string describe_bottleneck(std::span<const stage_metrics* const> stages,
                                              duration elapsed, std::optional<time_point> now = {});

}  // namespace LEAT
