#pragma once

#include "leat/async/blocking/detail/blocking_call.hpp"
#include "leat/async/scheduler/scheduler.hpp"

namespace LEAT::detail {

/// The calls of run_blocking() on one scheduler, which asks them to stop when it ends its tasks. A
/// simulation calls the functions itself.
///
/// Thread safety: thread-bound to the scheduler.
class blocking_calls {
 public:
  static const service_key key;  ///< See scheduler::find_service().

  blocking_calls() = default;
  blocking_calls(const blocking_calls&) = delete;
  blocking_calls& operator=(const blocking_calls&) = delete;
  virtual ~blocking_calls() = default;

  /// Executes a call instead of a pool's thread, later and never in this function. Returns false if
  /// a pool is to execute it.
  virtual bool take(blocking_call& call) noexcept;
  /// Takes back a call that was taken and is still waiting. Returns false if it will be executed
  /// nevertheless.
  virtual bool drop(blocking_call& call) noexcept;

  void add(blocking_call& call) noexcept;
  void remove(blocking_call& call) noexcept;
  /// Asks all calls to end.
  void request_end() noexcept;

  /// Returns the calls of a scheduler; null if the driver cannot keep them.
  /// Errors: std::bad_alloc.
  [[nodiscard]] static blocking_calls* of(scheduler& s);

 private:
  blocking_call* first_ = nullptr;
};

}  // namespace LEAT::detail
