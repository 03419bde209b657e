#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "leat/async/scheduler/detail/scheduler_record.hpp"
#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// The sums of the counters of all schedulers that have had one number.
struct scheduler_counts {
  std::uint64_t turns = 0;
  std::uint64_t all_tasks = 0;
  std::size_t tasks = 0;
  duration busy{};          ///< time in which tasks ran, while runs were watched
  duration longest_turn{};  ///< while runs were watched
  std::uint64_t long_turns = 0;
  duration turn{};  ///< age of the turn in progress, while a watched task runs
};

/// The records of the living schedulers, by their number.
/// Thread safety: thread-safe. A scheduler is created and destroyed with the lock held.
class scheduler_records {
 public:
  static void add(scheduler_record& record);
  static void remove(const scheduler_record& record) noexcept;

  /// Calls f(record, counts) for each living scheduler. The counts lack the times of the record.
  template <class F>
  static void each_counts(F f) {
    const std::lock_guard lock(mutex());
    const std::vector<slot>& all = slots();
    for (std::size_t n = 0; n < all.size(); ++n) {
      if (all[n].living) f(std::as_const(*all[n].living), sum(all[n]));
    }
  }

  /// Adds the times of the runs that have ended. Call it with the lock of the watched_run, or when
  /// the scheduler runs no task.
  static void add_times(const scheduler_record& record, scheduler_counts& counts) noexcept;

  /// Calls f(serial, number, run) for each living scheduler with a watched_run. Call it with the
  /// lock, which keeps the runs alive.
  template <class F>
  static void each_run(F f) {
    for (const slot& s : slots()) {
      // acquire: pairs with watched_run::begin().
      watched_run* const run =
          s.living ? __atomic_load_n(&s.living->run_, __ATOMIC_ACQUIRE) : nullptr;
      if (run) f(s.living->serial_, s.living->number_, *run);
    }
  }

  /// The lock of all records. Schedulers are created and destroyed after it.
  static std::mutex& mutex() noexcept;

 private:
  struct slot {
    scheduler_record* living = nullptr;
    scheduler_counts ended = {};  // the sum of the former ones
  };

  static std::vector<slot>& slots() noexcept;
  [[nodiscard]] static scheduler_counts sum(const slot& s) noexcept;
  static void vacate(const scheduler_record& record) noexcept;  // call it with the lock
};

}  // namespace LEAT::detail
