#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "leat/async/task_context.hpp"
#include "leat/base/clock.hpp"

namespace LEAT::detail {

struct scheduler_counts;

/// The run of a task that is in progress on a scheduler, and the last long one: what a thread of
/// warn_on_long_turns may read while the task runs.
///
/// A run lasts from a resumption of the task to its next wait or its end. begin() copies the source
/// locations of the task, because they change while it runs. Name, ID and place of spawn are
/// fixed, and the lock of the run keeps the task alive: end() takes it before the task can end.
///
/// Thread safety: thread-safe, except that begin() and end() are thread-bound to the scheduler.
class watched_run {
 public:
  /// Counts the objects that watch. Runs are recorded if there are any.
  static std::atomic<int> watchers;
  /// Turns that last for this time, in nanoseconds, count as long. The least of all watchers.
  static std::atomic<std::int64_t> long_turn;

  /// Records that `task` runs. Returns false if it is not watched: then do not call end().
  [[nodiscard]] static bool begin(const task_context& task) noexcept;
  /// Records that it waits, or has ended.
  static void end(const task_context& task, bool has_ended) noexcept;

  /// A source location, and the operation there; empty for a task that is awaited.
  struct place {
    std::source_location at = {};
    std::string_view verb = {};
  };
  /// A long run, as values.
  struct report {
    std::uint64_t run = 0;  ///< its number among those of the scheduler
    task_id id = {};
    std::string name = {};
    std::source_location spawned_at = {};
    std::vector<place> waited_at = {};  ///< where it last waited, and its awaits, innermost first
    duration lasted{};
    pid_t thread = 0;
    bool has_ended = false;
    place until = {};  ///< where it waits now; no line: at the end of the task
    /// The names and values of its named task-locals at the end of the run, innermost first.
    std::vector<std::pair<std::string, std::string>> values = {};
  };
  /// The last long run of a scheduler that was destroyed.
  struct late_report {
    std::uint64_t serial = 0;  ///< of the scheduler, and its number
    std::size_t number = 0;
    report last = {};
  };
  /// The newest of them, while there are watchers. Guarded by scheduler_records::mutex().
  [[nodiscard]] static std::list<late_report>& late_reports() noexcept;
  /// Adds that of `record`, if it has one.
  static void keep_report(const scheduler_record& record) noexcept;

  /// Calls f(report) with the last run that has lasted for `threshold`, unless its number is
  /// `known_end`, and with the run in progress if it has lasted for `threshold`, or for `again` if
  /// its number is `known`.
  /// Errors: std::bad_alloc; those of f.
  template <class F>
  void each_long(duration threshold, std::uint64_t known_end, std::uint64_t known, duration again,
                 F f) {
    const std::lock_guard lock(mutex_);
    if (last_.run != 0 && last_.run != known_end && last_.lasted >= threshold) f(last_);
    if (!task_) return;
    const duration lasted = now() - begin_;
    if (lasted >= (run_ == known ? again : threshold)) f(describe(lasted));
  }

  /// Adds the times of the scheduler of `record`, those of the run in progress included.
  static void add_times(const scheduler_record& record, scheduler_counts& counts) noexcept;

  /// The task that runs.
  struct running {
    std::string name;
    duration lasted{};
    pid_t thread = 0;
  };
  /// Returns the task that runs on the scheduler of `record`, if it is watched. The caller keeps
  /// the scheduler alive. Errors: std::bad_alloc.
  [[nodiscard]] static std::optional<running> find_running(const scheduler_record& record);

 private:
  static constexpr std::size_t max_places = 16;

  [[nodiscard]] static time_point now() noexcept;
  [[nodiscard]] static watched_run* of(const scheduler_record& record) noexcept;
  [[nodiscard]] report describe(duration lasted) const;
  void begin_here(const task_context& task);
  void end_here(const task_context& task, bool has_ended, scheduler_record& record) noexcept;

  std::mutex mutex_;  // guards the rest
  const task_context* task_ = nullptr;
  std::size_t depth_ = 0;  // of runs within the run: a destructor of the task may run others
  std::uint64_t run_ = 0;
  time_point begin_{};
  pid_t thread_ = 0;
  std::size_t place_count_ = 0;
  std::array<place, max_places> places_{};
  std::size_t turn_ = 0;
  time_point turn_begin_{};
  bool is_turn_counted_ = false;  // as a long one
  report last_;
};

}  // namespace LEAT::detail
