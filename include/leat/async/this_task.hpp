#pragma once

#include <coroutine>
#include <source_location>
#include <stop_token>

#include "leat/async/detail/promise.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/internal/assert.hpp"

namespace leat {
namespace detail {

// Awaitables that never suspend. They return properties of the task that awaits them.
class [[nodiscard]] context_query {
 public:
  void bind(promise_base& p, std::coroutine_handle<>) noexcept { context_ = &p.context(); }
  bool await_ready() const noexcept {
    LEAT_ASSERT(
        context_ != nullptr,
        "functions of this_task are for leat tasks: in a coroutine of another library, call "
        "leat::scheduler::current()");
    return true;
  }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  task_context& await_resume() const noexcept { return *context_; }

 protected:
  task_context* context_ = nullptr;
};

struct [[nodiscard]] scheduler_query : context_query {
  scheduler& await_resume() const noexcept { return context_->get_scheduler(); }
};
struct [[nodiscard]] stop_token_query : context_query {
  std::stop_token await_resume() const { return context_->scope().get_stop_token(); }
};
struct [[nodiscard]] stop_requested_query : context_query {
  bool await_resume() const noexcept { return context_->stop_requested(); }
};

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

/// Queries of a task about itself, for `co_await`. Only yield() suspends.
namespace this_task {

/// Returns the task's context, with its name, owner and scheduler.
[[nodiscard]] inline detail::context_query get_context() noexcept { return {}; }

/// Returns the scheduler on which the task runs.
[[nodiscard]] inline detail::scheduler_query get_scheduler() noexcept { return {}; }

/// Returns the stop token of the task's owner, for functions that accept a stop token. leat's own
/// operations observe the stop without the token. Errors: std::bad_alloc.
[[nodiscard]] inline detail::stop_token_query get_stop_token() noexcept { return {}; }

/// Returns true if the task was asked to stop. For loops that compute and never wait.
[[nodiscard]] inline detail::stop_requested_query stop_requested() noexcept { return {}; }

// Readers and pipelines use detail::yield_turn() instead, which also ends the turn.

/// Lets every other task that is ready run first.
/// Cancellation: none; the task always continues. Cost: one pass through the run queue.
[[nodiscard]] inline detail::yield_wait yield(
    std::source_location where = std::source_location::current()) noexcept {
  return detail::yield_wait(where);
}

}  // namespace this_task
}  // namespace leat
