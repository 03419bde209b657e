#pragma once

#include <concepts>
#include <coroutine>
#include <source_location>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/operation_results.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace detail {

/// The requirement on an operation of as_tuple(): it has a member await_tuple(), which replaces
/// await_resume() and returns the error instead of throwing it.
template <class Operation>
concept tuple_awaitable = requires(Operation& o) {
  { o.await_tuple() } noexcept;
};

/// Whether as_tuple() can make the result of an operation that has failed.
template <class Result>
inline constexpr bool has_default_value = std::default_initializable<Result>;
template <class R>
inline constexpr bool has_default_value<operation_result<R>> = std::default_initializable<R>;
template <>
inline constexpr bool has_default_value<operation_result<void>> = true;

/// The awaitable that as_tuple() returns for an operation. Movable until it is awaited.
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
  void bind(promise_base& promise, std::coroutine_handle<> h,
            const std::source_location& where) noexcept
    requires location_aware<Operation>
  {
    operation_.bind(promise, h, where);
  }

  /// Called instead of everything else if the operation cannot be started.
  void set_start_error(std::error_code ec) noexcept { begin_error_ = ec; }

  bool await_ready() noexcept {
    if constexpr (requires { operation_.omit_message(); }) operation_.omit_message();
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

/// The awaitable that as_tuple() returns for a task. A leat task awaits it through its promise.
template <class T>
class [[nodiscard]] as_tuple_task {
 public:
  static_assert(!std::is_reference_v<T>,
                "as_tuple() needs a task without a reference result: return a pointer");
  static_assert(
      std::is_void_v<T> || std::default_initializable<T>,
      "as_tuple() needs a default-constructible result: let the task return std::optional");

  explicit as_tuple_task(task<T>&& child) noexcept : child_(std::move(child)) {}

  [[nodiscard]] task<T> release() && noexcept { return std::move(child_); }

  /// Awaits the task in a coroutine of another type.
  auto operator co_await() && {
    return awaiter_in_foreign_coroutine<as_tuple_awaiter<task_in_foreign_coroutine<T>>>(
        std::move(child_));
  }

  template <awaitable_of_task Asio>
  operator Asio() const noexcept;

 private:
  task<T> child_;
};

template <class Operation>
inline constexpr bool is_as_tuple<as_tuple_awaiter<Operation>> = true;
template <class T>
inline constexpr bool is_as_tuple<as_tuple_task<T>> = true;

template <class U>
as_tuple_awaiter<child_awaiter<U>> awaiting_promise::await_transform(
    as_tuple_task<U>&& child, std::source_location where) noexcept {
  return as_tuple_awaiter<child_awaiter<U>>(std::move(child).release(), *this, where);
}

}  // namespace detail

/// Awaits an operation without exceptions: returns an asio_error_code and the operation's result.
///
///     for (;;) {
///       auto popped = co_await leat::as_tuple(queue.pop());
///       if (popped.error || !popped.value) co_return;  // stopped, or closed and drained
///       use(*popped.value);
///     }
///
/// Accepts push(), pop(), push_many(), pop_many() and pop_up_to() of queues, sleep_for(),
/// sleep_until(), wait_for_stop(), task_group::join(), run_blocking(), Asio operations with
/// use_task, select(), with_timeout(), with_deadline() and with_stop(). Write a limit inside of
/// as_tuple(), as in `as_tuple(with_timeout(queue.pop(), 1s))`. Each operation has the same effect
/// as without as_tuple(). Instead of throwing an exception, it returns the code that
/// to_error_code() returns for that exception, without creating a message. An expected end, such as
/// a closed queue, is not an error here either.
///
/// as_tuple() owns the operation, as select() does: a function can return the result.
///
/// Check the code: if a task continues after `cancelled`, its next wait fails with it again.
///
/// Result:        operation_result<R> for an operation with the result R. With an error, `value` is
///                the number of items added for push_many(), the value that the handler received
///                for an Asio operation, such as the number of bytes, and R() for other operations.
///                R must be default-constructible: instead of async_accept(use_task), which returns
///                a socket, await async_accept(socket, use_task).
/// Errors:        does not throw; std::bad_alloc becomes resource_exhausted.
/// Cancellation:  like the operation.
/// Thread safety: like the operation.
/// Cost:          like the operation, but without the 10,000 or so instructions of an exception.
///                Use it in loops if one stop ends many of them.
template <detail::tuple_awaitable Operation>
[[nodiscard]] auto as_tuple(Operation&& operation) noexcept {
  static_assert(!std::is_lvalue_reference_v<Operation>,
                "as_tuple() takes ownership of the operation: write std::move(operation)");
  static_assert(detail::has_default_value<decltype(operation.await_tuple())>,
                "as_tuple() needs a default-constructible result: await the operation in a task "
                "that returns std::optional, or pass the object that it assigns, as in "
                "acceptor.async_accept(socket, leat::use_task)");
  return detail::as_tuple_awaiter<Operation>(std::move(operation));
}

/// Overload for a task: returns the error code of the exception that the task threw, and the task's
/// result.
///
///     auto waited = co_await leat::as_tuple(coord.wait_for_stop(10s));
///     if (!waited.error && waited.value) co_return;
template <class T>
[[nodiscard]] detail::as_tuple_task<T> as_tuple(task<T>&& child) noexcept {
  return detail::as_tuple_task<T>(std::move(child));
}

/// Rejected: a task can be awaited only once.
template <class T>
auto as_tuple(const task<T>&) {
  static_assert(std::is_same_v<task<T>, void>,
                "as_tuple() takes ownership of the task: write std::move(task)");
}

}  // namespace LEAT
