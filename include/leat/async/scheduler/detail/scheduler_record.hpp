#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

class watched_run;

/// The counters of a scheduler, for metrics() and warn_on_long_turns.
///
/// The scheduler counts in plain members of its own and publishes them when a turn ends, so a
/// counter costs its tasks at most one increment, and any thread can read the values.
///
/// Each record has a number, the smallest one that no living record has. The counters of a number
/// only grow: a record begins where the previous one of its number has ended.
///
/// Thread safety: thread-bound to its scheduler; scheduler_records are thread-safe.
class scheduler_record {
 public:
  /// Adds the record to scheduler_records. Errors: std::bad_alloc.
  scheduler_record();
  scheduler_record(const scheduler_record&) = delete;
  scheduler_record& operator=(const scheduler_record&) = delete;
  /// Removes it, after each thread that reads it has finished.
  ~scheduler_record();

  /// Makes the counters visible to other threads. relaxed: they order nothing.
  void publish(std::uint64_t turns, std::uint64_t all_tasks, std::size_t tasks) noexcept {
    __atomic_store_n(&turns_, turns, __ATOMIC_RELAXED);
    __atomic_store_n(&all_tasks_, all_tasks, __ATOMIC_RELAXED);
    __atomic_store_n(&tasks_, tasks, __ATOMIC_RELAXED);
  }

  /// Returns the number: the label of the scheduler in metrics().
  [[nodiscard]] std::size_t number() const noexcept { return number_; }

 private:
  friend class scheduler_records;
  friend class watched_run;

  // Written by the scheduler alone; builtins, because the model tests replace std::atomic.
  std::uint64_t turns_ = 0;
  std::uint64_t all_tasks_ = 0;
  std::size_t tasks_ = 0;
  std::int64_t busy_ = 0;     // nanoseconds in which tasks ran, and the next two: while watched
  std::int64_t longest_ = 0;  // nanoseconds of the longest turn
  std::uint64_t long_turns_ = 0;
  watched_run* run_ = nullptr;  // null until a run is watched
  std::size_t number_ = 0;
  std::uint64_t serial_ = 0;  // unique in the process
};

}  // namespace LEAT::detail
