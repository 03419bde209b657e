#pragma once

#include <coroutine>
#include <source_location>
#include <stop_token>

#include "leat/async/detail/promise.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {
namespace detail {

class [[nodiscard]] yield_wait final : public wait_operation {
 public:
  explicit yield_wait(const std::source_location& where) noexcept
      : wait_operation(yield_kind, where) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    if (!bound()) attach(h);
    begin_wait();
    wake();
  }
  void await_resume() const noexcept {}

 private:
  static const kind yield_kind;
};

}  // namespace detail

/// Functions that return properties of the running task. Call them in the task, or in a function
/// that it calls. Only yield() is awaited.
///
/// Precondition: a leat task is running on this thread. In a coroutine of another library, or in
///               a handler, use scheduler::current().
namespace this_task {

/// Returns the task's context, with its name, owner and scheduler.
[[nodiscard]] inline task_context& get_context() noexcept {
  task_context* const context = scheduler::current_task();
  LEAT_ASSERT(context != nullptr,
              "a function of this_task was called outside a leat task: in a coroutine of another "
              "library, call leat::scheduler::current()");
  return *context;
}

/// Returns the scheduler on which the task runs.
[[nodiscard]] inline scheduler& get_scheduler() noexcept { return get_context().get_scheduler(); }

/// Returns the stop token of the task's owner, for functions that accept a stop token. leat's own
/// operations observe the stop without the token. Errors: std::bad_alloc.
[[nodiscard]] inline std::stop_token get_stop_token() {
  return get_context().scope().get_stop_token();
}

/// Returns true if the task was asked to stop. For loops that compute and never wait.
[[nodiscard]] inline bool stop_requested() noexcept { return get_context().stop_requested(); }

// Readers and pipelines use detail::yield_turn() instead, which also ends the turn.

/// Lets every other task that is ready run first.
/// Cancellation: none; the task always continues. Cost: one pass through the run queue.
[[nodiscard]] inline detail::yield_wait yield(
    std::source_location where = std::source_location::current()) noexcept {
  return detail::yield_wait(where);
}

}  // namespace this_task
}  // namespace LEAT
