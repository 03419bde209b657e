#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/sync/mutex.hpp"
#include "train/supervisor/step_gate.hpp"

namespace LEAT::detail {

/// Lets one save at a time copy the values, between two steps, and records what was saved.
///
/// Invariants:
/// - At most one save is between the begin of its wait for steps and the end of its writes.
/// - When a save has ended, in any way, the gate of the steps is open.
/// - The state may be saved from allow() until forbid(), within one run.
/// - newest_step() and is_partial() describe the newest checkpoint that was listed.
///
/// Thread safety: thread-bound.
class save_gate {
 public:
  /// `hold_limit`: the first one of step_gate::drain(). `warn`: called once per run if it is
  /// exceeded.
  save_gate(step_gate& steps, duration hold_limit, std::function<void(const std::string&)> warn)
      : steps_(steps), hold_limit_(hold_limit), warn_(std::move(warn)) {}

  /// Called at the begin of a run: there are no values yet, and nothing was saved.
  void begin_run() noexcept;
  /// The state has its values.
  void allow() noexcept { values_ = values::ready; }
  /// An error may have left the values inconsistent: they are not saved in this run.
  void forbid() noexcept {
    if (has_values()) values_ = values::unusable;
  }
  /// Returns true if the state has had its values in this run.
  [[nodiscard]] bool has_values() const noexcept { return values_ != values::absent; }
  /// Returns true after allow() and before forbid().
  [[nodiscard]] bool is_allowed() const noexcept { return values_ == values::ready; }

  /// Waits for other saves and for the end of steps, except that of `own`, the element that
  /// requests the save, or null. Then awaits `write`, which copies the values before it waits. The
  /// steps continue when it has ended, or after values_copied().
  ///
  /// Errors:       those of `write`.
  /// Cancellation: like an error.
  [[nodiscard]] task<void> run(const step_in_progress* own, task<void> write);
  /// The values are copied: the steps continue, and the write does too.
  void values_copied() noexcept { steps_.release(); }

  /// Records the checkpoint of `step` as the newest. `is_partial`: the state differs from it, since
  /// it was restored without some entries.
  void record(std::optional<std::int64_t> step, bool is_partial) noexcept {
    newest_step_ = step;
    is_partial_ = is_partial;
  }
  /// Returns the step of the newest checkpoint, or nothing if there is none or steps are unknown.
  [[nodiscard]] std::optional<std::int64_t> newest_step() const noexcept { return newest_step_; }
  /// Returns true if the state differs from the newest checkpoint at its step.
  [[nodiscard]] bool is_partial() const noexcept { return is_partial_; }

 private:
  enum class values : unsigned char { absent, ready, unusable };

  void warn_about_overdue_step(duration limit);

  step_gate& steps_;
  const duration hold_limit_;
  const std::function<void(const std::string&)> warn_;
  values values_ = values::absent;
  bool is_partial_ = false;
  bool has_warned_ = false;
  std::optional<std::int64_t> newest_step_;
  mutex one_save_{"save"};
};

}  // namespace LEAT::detail
