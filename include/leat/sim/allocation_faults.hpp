#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "leat/base/detail/preemption_hook.hpp"
#include "leat/sim/decision_source.hpp"

namespace leat::sim {

/// When memory is short. Needs leat/sim/failing_new.hpp in one source of the program.
struct memory_options {
  double failure = 0;                      ///< probability for each allocation of the program
  std::optional<std::uint64_t> plan = {};  ///< the one that fails, counted from 1
};

/// Decides which allocations of a simulated program fail.
///
/// Asked are those of what runs in a world: of its tasks and of the library under them, and never
/// those of the simulation itself, its file system and its delivery logs, nor those of another
/// thread. Frames of coroutines are not recycled meanwhile, so that a run makes the same
/// allocations whatever ran before it. What a program makes at first use and keeps, it should have
/// made before.
///
/// Thread safety: thread-bound to the world's thread.
class allocation_faults {
 public:
  allocation_faults(decision_source& c, const memory_options& options) noexcept
      : decisions_(c), options_(options) {}

  /// For what replaces operator new: true where the allocation that is to be made now fails; always
  /// false on a thread that runs no world.
  [[nodiscard]] static bool next_fails() noexcept;

  /// In its scope none fails and none is counted: for what belongs to the test and not to the
  /// program. Not over a suspension; no thread is pre-empted in it.
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

  /// Allocations of the program so far: what memory_options::plan counts.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

  /// The numbers of those that failed.
  [[nodiscard]] const std::vector<std::uint64_t>& failed() const noexcept { return failed_; }

  // ---- For the world.

  /// True where any may fail; if not, none is counted.
  [[nodiscard]] bool is_enabled() const noexcept { return options_.failure > 0 || options_.plan; }

  /// From now on none fails.
  void end() noexcept { ended_ = true; }

  /// Errors: std::logic_error where operator new does not ask.
  void require_failing_new();

  /// The program runs in its scope.
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

}  // namespace leat::sim
