#pragma once

#include <exception>

#include "leat/core/task.hpp"

namespace leat::detail {

/// Learns when pipeline::for_each() processes an element in a coroutine, so that a supervisor saves
/// and stops only between two elements. Thread-bound, like the pipeline.
class step_observer {
 public:
  step_observer() = default;
  step_observer(const step_observer&) = delete;
  step_observer& operator=(const step_observer&) = delete;
  virtual ~step_observer() = default;

  /// Returns true if for_each() must await wait() before it continues. `in_step`: an element was
  /// taken and its coroutine is about to run; else the next element is about to be taken.
  [[nodiscard]] virtual bool must_wait(bool in_step) const noexcept = 0;
  [[nodiscard]] virtual task<void> wait(bool in_step) = 0;

  virtual void begin_step() noexcept = 0;
  /// `error`: what the coroutine threw; null if it has finished.
  virtual void end_step(const std::exception_ptr& error) noexcept = 0;
};

}  // namespace leat::detail
