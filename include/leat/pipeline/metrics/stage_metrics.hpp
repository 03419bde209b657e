#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "leat/async/scheduler.hpp"
#include "leat/base/clock.hpp"
#include "leat/pipeline/metrics/detail/span_clock.hpp"

namespace leat {

/// What a stage of a pipeline counts: what went through it, how long its tasks were there, and how
/// long they waited, for input and for room to put their output. The sum over all its tasks.
///
/// Times come in two forms: of what has ended, and, given the time now, of what lasts as well: a
/// task that has waited since the beginning would not be seen otherwise.
///
/// Thread safety: thread-safe; to read never waits for the stage.
class stage_metrics {
 public:
  explicit stage_metrics(std::string name) : name_(std::move(name)) {}
  stage_metrics(const stage_metrics&) = delete;
  stage_metrics& operator=(const stage_metrics&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Counts records that went through, and their bytes where these are known.
  void add(std::uint64_t records, std::uint64_t bytes) noexcept {
    // relaxed here and below: counters, which order nothing else.
    add(records);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (!knows_bytes()) knows_bytes_.store(true, std::memory_order_relaxed);
  }
  void add(std::uint64_t records) noexcept {
    records_.fetch_add(records, std::memory_order_relaxed);
  }
  /// Counts bytes at the end of a file that are no whole record, and were left out.
  void add_left_over(std::uint64_t bytes) noexcept {
    left_over_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// For a stage that holds elements: its capacity, and the elements that it holds. The unit is
  /// elements, or blocks if the stage passes on whole blocks.
  void set_capacity(std::uint64_t items) noexcept {
    capacity_.store(items, std::memory_order_relaxed);
  }
  void add_held(std::int64_t items) noexcept { held_.fetch_add(items, std::memory_order_relaxed); }
  void set_held(std::int64_t items) noexcept { held_.store(items, std::memory_order_relaxed); }
  /// Counts a task that shares the work of the stage.
  void add_task() noexcept { tasks_.fetch_add(1, std::memory_order_relaxed); }
  /// Counts time in which a task of the stage could not work; see `stage_wait_timer`.
  void add_input_wait(duration d) noexcept { input_.add(d); }
  /// Counts time in which a task of the stage could not put its output.
  void add_output_wait(duration d) noexcept { output_.add(d); }

  [[nodiscard]] std::uint64_t records() const noexcept { return get(records_); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return get(bytes_); }
  /// True: the bytes of some were counted.
  [[nodiscard]] bool knows_bytes() const noexcept {
    return knows_bytes_.load(std::memory_order_relaxed);
  }
  /// Of a stage that reads files: bytes at their ends that are no whole record, where that may be,
  /// as reader_statistics::left_over; each time that it has come to an end.
  [[nodiscard]] std::uint64_t left_over() const noexcept { return get(left_over_); }
  /// What fits into the stage; 0: it holds nothing from one call to the next.
  [[nodiscard]] std::uint64_t capacity() const noexcept { return get(capacity_); }
  /// What it holds now.
  [[nodiscard]] std::uint64_t held() const noexcept {
    const std::int64_t items = held_.load(std::memory_order_relaxed);
    return items > 0 ? static_cast<std::uint64_t>(items) : 0;  // what goes may be counted first
  }
  /// Tasks that share the work; the times are their sum.
  [[nodiscard]] std::uint64_t tasks() const noexcept { return get(tasks_); }
  /// Time in which tasks of the stage waited for input.
  [[nodiscard]] duration waited_for_input(std::optional<time_point> now = {}) const noexcept;
  /// Time in which they waited until they could put their output.
  [[nodiscard]] duration waited_for_output(std::optional<time_point> now = {}) const noexcept;
  /// Returns true if the stage can wait to put its output, for example into a queue that is full. A
  /// stage without tasks of its own never does.
  [[nodiscard]] bool knows_output_wait() const noexcept { return output_.used(); }
  /// True: it is known how long they were there; see `stage_work_timer`.
  [[nodiscard]] bool knows_work_time() const noexcept { return work_.used(); }
  /// Time in which they were there, waiting or not.
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

/// Measures one wait of a stage: from its making to stop(), or to its own end when the wait throws.
///
///     stage_wait_timer w(metrics, sched, stage_wait_timer::for_output);
///     co_await queue.push_many(items);
///     w.stop();
///
/// Thread safety: thread-bound. Cost: two looks at the clock of `sched`.
class stage_wait_timer {
 public:
  /// What the stage waits for: others. To wait for a device is a reader's work.
  enum kind { for_input, for_output };

  stage_wait_timer(stage_metrics& stage, scheduler& sched, kind k) noexcept
      : span_(k == for_input ? stage.input_ : stage.output_, sched) {}

  /// The wait is over: counts it, once.
  void stop() noexcept { span_.stop(); }

 private:
  detail::timed_span span_;
};

/// Says how long a task of a stage is there, from its making to its own end: the first line of the
/// task, or of each of its steps. A stage without it counts as there all the time, and so as busy
/// when it ended long before the others.
///
/// Thread safety and cost: as stage_wait_timer.
class stage_work_timer {
 public:
  stage_work_timer(stage_metrics& stage, scheduler& sched) noexcept : span_(stage.work_, sched) {}

  /// Ends the measurement without reading the clock of a scheduler that may be gone.
  void forget() noexcept { span_.forget(); }

 private:
  detail::timed_span span_;
};

/// Names the bottleneck of a pipeline in one sentence, for stages listed from source to consumer.
///
/// What limits the others is the stage that is busy nearly all the time: those before it wait for
/// room, those behind it for input. Busy is a task that is there and does not wait. Stages within
/// ten percentage points of the busiest are named with it. Where none is busy half of the time, as
/// when tasks share a thread, it is the one for which all others wait; or else what feeds or
/// empties the pipeline is to blame, or the queues between are too small. A stage through which
/// nothing has gone at all comes before all others.
///
/// `elapsed`: how long the pipeline has run. With `now` waits that have not ended count too: for a
/// pipeline that still runs.
[[nodiscard]] std::string describe_bottleneck(std::span<const stage_metrics* const> stages,
                                              duration elapsed, std::optional<time_point> now = {});

}  // namespace leat
