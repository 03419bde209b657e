#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "leat/core/clock.hpp"
#include "leat/core/scheduler.hpp"

namespace leat {

/// What a stage of a pipeline counts: what went through it, and how long it waited, for input and
/// for room to put its output. The sum over all its tasks.
///
/// Thread safety: shared-safe, and the counters never wait for the stage.
class stage_metrics {
 public:
  explicit stage_metrics(std::string name) : name_(std::move(name)) {}
  stage_metrics(const stage_metrics&) = delete;
  stage_metrics& operator=(const stage_metrics&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  /// Counts records that went through, and their bytes.
  void add(std::uint64_t records, std::uint64_t bytes) noexcept {
    // relaxed here and below: counters, which order nothing else.
    records_.fetch_add(records, std::memory_order_relaxed);
    bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
  /// Counts a task that shares the work of the stage.
  void add_task() noexcept { tasks_.fetch_add(1, std::memory_order_relaxed); }
  /// Counts time in which a task of the stage could not work.
  void add_wait_for_input(duration d) noexcept { add_time(input_, d); }
  /// Counts time in which a task of the stage could not put its output.
  void add_wait_for_room(duration d) noexcept { add_time(room_, d); }

  [[nodiscard]] std::uint64_t records() const noexcept { return get(records_); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return get(bytes_); }
  /// Tasks that share the work; the waiting times are their sum.
  [[nodiscard]] std::uint64_t tasks() const noexcept { return get(tasks_); }
  [[nodiscard]] duration waited_for_input() const noexcept { return time(input_); }
  [[nodiscard]] duration waited_for_room() const noexcept { return time(room_); }

 private:
  using counter = std::atomic<std::uint64_t>;

  static std::uint64_t get(const counter& c) noexcept { return c.load(std::memory_order_relaxed); }
  static duration time(const counter& c) noexcept {
    return duration(static_cast<duration::rep>(get(c)));
  }
  static void add_time(counter& c, duration d) noexcept {
    c.fetch_add(static_cast<std::uint64_t>(d.count()), std::memory_order_relaxed);
  }

  const std::string name_;
  counter records_{0};
  counter bytes_{0};
  counter tasks_{0};
  counter input_{0};
  counter room_{0};
};

/// Measures one wait of a stage: from its making to stop().
///
///     waiting w(metrics, home, waiting::for_room);
///     co_await queue.push_many(items);
///     w.stop();
class waiting {
 public:
  /// What the stage waits for.
  enum kind { for_input, for_room };

  waiting(stage_metrics& stage, scheduler& home, kind k) noexcept
      : stage_(stage), home_(home), kind_(k), begin_(home.now()) {}

  /// The wait is over: counts it.
  void stop() noexcept {
    const duration d = home_.now() - begin_;
    kind_ == for_input ? stage_.add_wait_for_input(d) : stage_.add_wait_for_room(d);
  }

 private:
  stage_metrics& stage_;
  scheduler& home_;
  const kind kind_;
  const time_point begin_;
};

/// Names the bottleneck of a pipeline in one sentence, for stages listed from source to consumer.
///
/// The stage that limits the others is the one that hardly waits: those before it wait for room,
/// those behind it for input. `elapsed`: how long the pipeline has run.
[[nodiscard]] std::string verdict(std::span<const stage_metrics* const> stages, duration elapsed);

}  // namespace leat
