#pragma once

#include <cstdint>

#include "leat/async/task.hpp"
#include "leat/async/task_id.hpp"

namespace LEAT::detail {

/// An element that pipeline::for_each() processes in a coroutine.
struct step_in_progress {
  task_id task;                      // that called for_each()
  std::uint64_t scopes_before = 0;   // made in the process before the element was taken
  step_in_progress* next = nullptr;  // in the observer's list
  bool is_counted = false;           // it is in that list
  bool is_saving = false;            // it waits for a save that it requested
  bool is_overdue = false;           // a save has waited too long for its end
};

/// Learns when pipeline::for_each() processes an element in a coroutine, so that a supervisor saves
/// and stops only between two elements. Thread-bound, like the pipeline.
class step_observer {
 public:
  step_observer() = default;
  step_observer(const step_observer&) = delete;
  step_observer& operator=(const step_observer&) = delete;
  virtual ~step_observer() = default;

  /// Returns true if the current task belongs to a step in progress: its own elements are not steps
  /// then.
  [[nodiscard]] virtual bool is_within_step() const noexcept = 0;

  /// Returns true if no element may begin any more, except those of the current task's own step:
  /// wait(false) throws `cancelled` when the steps of others have ended.
  [[nodiscard]] virtual bool must_stop() const noexcept = 0;

  /// Returns true if for_each() must await wait() before it continues. `in_step`: true if an
  /// element was taken and its coroutine is about to run, or false if the next element is about to
  /// be taken.
  [[nodiscard]] virtual bool must_wait(bool in_step) const noexcept = 0;
  [[nodiscard]] virtual task<void> wait(bool in_step) = 0;

  virtual void begin_step(step_in_progress& s) noexcept = 0;
  /// `finished`: the coroutine did not throw and was not destroyed.
  virtual void end_step(step_in_progress& s, bool finished) noexcept = 0;
};

}  // namespace LEAT::detail
