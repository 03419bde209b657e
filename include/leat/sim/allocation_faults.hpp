#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "leat/base/internal/preemption_hook.hpp"
#include "leat/sim/decision_source.hpp"

namespace LEAT::sim {

/// Options for allocations that fail. One source of the program must include
/// leat/sim/failing_new.hpp.
struct memory_options {
  double failure = 0;                      ///< probability for each allocation of the program
  std::optional<std::uint64_t> plan = {};  ///< the one that fails, counted from 1
};

/// The source of allocation failures in a simulated program.
///
/// Allocations of the tasks in a world, and of the library under them, can fail. Allocations of the
/// simulation itself, its file system and its delivery logs never fail, and neither do those of
/// another thread. During a run, coroutine frames are not recycled, so a run makes the same
/// allocations regardless of earlier runs. Objects that the program creates at first use and keeps
/// should be created before the run.
///
/// Thread safety: thread-bound to the world's thread.
class allocation_faults {
 public:
  allocation_faults(decision_source& c, const memory_options& options) noexcept
      : decisions_(c), options_(options) {}

  /// Returns true if the next allocation must fail, and always false on a thread that does not run
  /// a world. A replacement of operator new calls it.
  [[nodiscard]] static bool next_fails() noexcept;

  /// A scope in which no allocation fails or is counted, for code that belongs to the test and not
  /// to the program. Do not suspend within it. No thread is pre-empted within it.
  class without_faults {
   public:
    without_faults() noexcept;
    ~without_faults();
    without_faults(const without_faults&) = delete;
    without_faults& operator=(const without_faults&) = delete;

   private:
    allocation_faults* const outer_;
    const leat::detail::preemption_hook::disabled preemption_disabled_;
  };

  /// Returns the number of allocations of the program so far, to which memory_options::plan refers.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// Returns the numbers of the allocations that failed.
  [[nodiscard]] const std::vector<std::uint64_t>& failed() const noexcept { return failed_; }

  // ---- For the world.

  /// Returns true if allocations may fail. If not, allocations are not counted.
  [[nodiscard]] bool is_enabled() const noexcept { return options_.failure > 0 || options_.plan; }

  /// Ends the failures: from now on no allocation fails.
  void end() noexcept { ended_ = true; }

  /// Checks that operator new calls next_fails().
  ///
  /// Errors: std::logic_error if it does not.
  void require_failing_new();

  /// A scope in which the program runs.
  class with_faults {
   public:
    explicit with_faults(allocation_faults& faults) noexcept;
    ~with_faults();
    with_faults(const with_faults&) = delete;
    with_faults& operator=(const with_faults&) = delete;
  };

 private:
  [[nodiscard]] bool decide();

  decision_source& decisions_;
  const memory_options options_;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> failed_;
  bool ended_ = false;
};

}  // namespace LEAT::sim
