#pragma once

#include <concepts>
#include <coroutine>
#include <source_location>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/detail/result_tuple.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"

namespace leat {
namespace detail {

/// What as_tuple() takes: an operation that can tell how it ended without an exception. It does so
/// in await_tuple(), which stands in for await_resume().
template <class Operation>
concept tuple_awaitable = requires(Operation& o) {
  { o.await_tuple() } noexcept;
};

/// Awaits an operation for as_tuple(). Movable until it is awaited.
template <class Operation>
class [[nodiscard]] as_tuple_awaiter {
 public:
  using result_type = decltype(std::declval<Operation&>().await_tuple());

  template <class... Arguments>
  explicit as_tuple_awaiter(Arguments&&... arguments)
      : operation_(std::forward<Arguments>(arguments)...) {}

  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  /// Called by leat::task before anything else.
  void bind(promise_base& promise, std::coroutine_handle<> h) noexcept
    requires task_aware<Operation>
  {
    operation_.bind(promise, h);
  }

  bool await_ready() noexcept {
    try {
      return operation_.await_ready();
    } catch (...) {
      store_error();
      return true;
    }
  }

  bool await_suspend(std::coroutine_handle<> h) noexcept {
    try {
      if constexpr (std::is_void_v<decltype(operation_.await_suspend(h))>) {
        operation_.await_suspend(h);
        return true;
      } else {
        return operation_.await_suspend(h);
      }
    } catch (...) {
      store_error();
      return false;
    }
  }

  result_type await_resume() noexcept {
    return begin_error_ ? failed_with<result_type>(begin_error_) : operation_.await_tuple();
  }

 private:
  void store_error() noexcept { begin_error_ = to_error_code(std::current_exception()); }

  Operation operation_;
  std::error_code begin_error_;  // of an operation that could not begin
};

/// A task to be awaited for as_tuple(): in a leat task through its promise.
template <class T>
class [[nodiscard]] as_tuple_task {
 public:
  static_assert(!std::is_reference_v<T>, "as_tuple gives values: let the task return a pointer");
  static_assert(std::is_void_v<T> || std::default_initializable<T>,
                "with an error there is a value too: let the task return std::optional");

  explicit as_tuple_task(task<T>&& child) noexcept : child_(std::move(child)) {}

  [[nodiscard]] task<T> release() && noexcept { return std::move(child_); }

  /// Awaits it in a coroutine that is no leat task.
  auto operator co_await() && { return as_tuple_awaiter<foreign_awaiter<T>>(std::move(child_)); }

  template <awaitable_of_task Asio>
  operator Asio() const noexcept;

 private:
  task<T> child_;
};

template <class T>
template <class U>
as_tuple_awaiter<child_awaiter<U>> promise_common<T>::await_transform(
    as_tuple_task<U>&& child, std::source_location where) noexcept {
  return as_tuple_awaiter<child_awaiter<U>>(std::move(child).release(), *this, where);
}

}  // namespace detail

/// Awaits an operation without exceptions: gives a std::error_code and what the operation gives.
///
///     for (;;) {
///       auto [ec, item] = co_await leat::as_tuple(queue.pop());
///       if (ec || !item) co_return;  // stopped, or closed and drained
///       use(*item);
///     }
///
/// Operations: push, pop, push_many, pop_many, pop_up_to of a queue, sleep_for, sleep_until,
/// wait_for_stop, join of a task group, select, with_timeout, with_deadline, with_stop. Each means
/// what it means without; what it would throw is the code, as to_error_code() has it, and the text
/// of that is never made. The expected ends stay what they are: no error.
///
/// Owns the operation, as a select does: a function can return it.
///
/// Check the code: a task that continues after `cancelled` gets it again from its next wait.
///
/// Result:        std::tuple<std::error_code, R> for an operation that gives an R; the tuple of the
///                code alone for one that gives nothing. With an error the value is what is true
///                then: of push_many how many items went in, else R().
/// Errors:        none are thrown, not even std::bad_alloc, which is resource_exhausted.
/// Cancellation, thread safety: those of the operation.
/// Cost:          the operation's. An exception costs some 10,000 instructions, this none of them:
///                it is for loops of which many are stopped together.
template <detail::tuple_awaitable Operation>
[[nodiscard]] auto as_tuple(Operation&& operation) noexcept {
  static_assert(!std::is_lvalue_reference_v<Operation>,
                "as_tuple() takes over the operation: write std::move(operation)");
  return detail::as_tuple_awaiter<Operation>(std::move(operation));
}

/// The same of a task: the code of what left it, and its result.
///
///     auto [ec, stopped] = co_await leat::as_tuple(coord.wait_for_stop(10s));
template <class T>
[[nodiscard]] detail::as_tuple_task<T> as_tuple(task<T>&& child) noexcept {
  return detail::as_tuple_task<T>(std::move(child));
}

/// Rejected: a task is awaited once.
template <class T>
auto as_tuple(const task<T>&) {
  static_assert(std::is_same_v<task<T>, void>,
                "as_tuple() takes over the task: write std::move(task)");
}

}  // namespace leat
