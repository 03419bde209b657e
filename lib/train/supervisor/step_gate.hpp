#pragma once

#include <cstddef>
#include <functional>

#include "leat/async/task.hpp"
#include "leat/base/clock.hpp"
#include "leat/pipeline/stage/internal/step_observer.hpp"
#include "leat/sync/event.hpp"

namespace LEAT::detail {

/// The steps in progress, and whether another one may begin, as far as saves are concerned.
///
/// A step is marked by supervisor::step(), or is an element that pipeline::for_each() processes.
/// Once a step was marked, elements are no steps until the next run.
///
/// Invariants:
/// - While the gate is `draining`, no step begins, except while a step is overdue: the save has
///   waited too long for that step, which may itself wait for one that must begin.
/// - While it is `copying`, no step begins and no step changes values: either none is in progress,
///   or each one in progress waits for a save that it requested.
/// - A save that drains the gate is resumed before any step that waits for the save.
///
/// Thread safety: thread-bound.
class step_gate {
 public:
  /// `none_in_progress`: called when a step has ended and no step is in progress; does not throw.
  explicit step_gate(std::function<void()> none_in_progress)
      : none_in_progress_(std::move(none_in_progress)) {}

  // ---- Steps.

  /// Returns true if a step is in progress.
  [[nodiscard]] bool in_step() const noexcept { return marked_ > 0 || elements_; }
  /// Returns the step to which the current task belongs, if it is an element; otherwise null.
  [[nodiscard]] step_in_progress* own_element() const noexcept;
  /// Returns true if elements are steps.
  [[nodiscard]] bool counts_elements() const noexcept { return !marks_steps_; }
  /// Returns true if a step has ended early in this run: the state is that of half a step.
  [[nodiscard]] bool has_incomplete_step() const noexcept { return incomplete_; }

  /// From now on, only marked steps are steps. Elements in progress are none any more.
  void mark_steps() noexcept;
  void begin_marked() noexcept { ++marked_; }
  void end_marked(bool finished) noexcept;
  void begin_element(step_in_progress& s) noexcept;
  void end_element(step_in_progress& s, bool finished) noexcept;
  /// Called at the begin of a run: no step is in progress, and none was left incomplete.
  void begin_run() noexcept;
  /// Called at the end of a run: elements that are still in progress are no steps any more.
  void end_run() noexcept;

  // ---- The tasks of steps.

  /// Returns true if no step may begin.
  [[nodiscard]] bool is_closed() const noexcept;
  /// Returns true if values are being copied, so that a step must not change them.
  [[nodiscard]] bool is_copying() const noexcept { return hold_ == hold::copying; }
  /// Waits until a step may begin.
  [[nodiscard]] task<void> wait_until_open();
  /// Waits until no values are being copied.
  [[nodiscard]] task<void> wait_for_copy();

  // ---- A save, one at a time.

  /// Returns true if a step must end before a save that is requested within `own`, or within no
  /// element if it is null.
  [[nodiscard]] bool blocks_save(const step_in_progress* own) const noexcept;
  /// `own` waits for a save that it has requested, so that no save has to wait for its end.
  void begin_save_within(step_in_progress& own) noexcept;
  /// Keeps further steps from beginning and waits for the end of those in progress. Then it is
  /// `copying`, without another wait in between. Call release() on every path.
  ///
  /// If other steps are held and this lasts longer than `hold_limit`, `on_overdue` is called with
  /// it, and the steps that wait may begin for as long as they have waited. If each step waits
  /// for the next one, steps therefore lose at most half of the time. The limit is doubled each
  /// time. The save itself waits without a limit.
  ///
  /// Cancellation: like an error: call release().
  [[nodiscard]] task<void> drain(const step_in_progress* own, duration hold_limit,
                                 const std::function<void(duration)>& on_overdue);
  /// Steps may begin. No effect if the gate is open.
  void release() noexcept;

 private:
  enum class hold : unsigned char { none, draining, giving_way, copying };

  void remove_element(step_in_progress& s) noexcept;
  void remove_elements() noexcept;
  void notify_end() noexcept;
  void mark_overdue() noexcept;
  [[nodiscard]] task<void> give_way(const step_in_progress* own, duration hold_limit);

  const std::function<void()> none_in_progress_;
  std::size_t marked_ = 0;                // in progress
  std::size_t overdue_ = 0;               // of these, about
  step_in_progress* elements_ = nullptr;  // in progress
  bool marks_steps_ = false;
  bool incomplete_ = false;
  hold hold_ = hold::none;
  event step_ended_{"end of a step"};
  event released_{"end of a save"};  // is_closed() or is_copying() may have changed
};

}  // namespace LEAT::detail
