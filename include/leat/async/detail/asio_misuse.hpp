#pragma once

#include <concepts>

#include "leat/base/asio.hpp"
#include "leat/base/internal/is_task.hpp"

#include LEAT_ASIO(this_coro.hpp)
#include LEAT_ASIO(version.hpp)

namespace LEAT_NAMESPACE_OF_ASIO {
template <class Executor>
class basic_yield_context;
}  // namespace LEAT_NAMESPACE_OF_ASIO

namespace LEAT::detail {

/// True for a token that ends the process if an operation with a std::exception_ptr succeeds: it
/// rethrows the null pointer. Fixed in Asio 1.30 (Boost 1.84).
template <class Token>
inline constexpr bool rethrows_null = false;
template <class Executor>
inline constexpr bool rethrows_null<asio::basic_yield_context<Executor>> =
    LEAT_ASIO_VERSION < 103000;

/// Rejects a coroutine as a completion handler.
template <class Handler, class Signature>
struct completion_handler;
template <class Handler, class... Args>
struct completion_handler<Handler, void(Args...)> {
  static_assert(!returns_awaitable<Handler&, Args...>,
                "completion handler returns a coroutine, which would never run: write a plain "
                "function, which may start the coroutine with leat::async_run()");
  static constexpr bool is_function = true;
};

// Compiler messages for an Asio coroutine that awaits an object that only a leat task can await.
// The coroutine's await_transform() tries to convert the object to asio::this_coro::executor_t. So
// objects for leat tasks have a conversion to it, whose constraint fails with a message.

template <class T>
struct operation_in_awaitable {
  static_assert(!std::same_as<T, asio::this_coro::executor_t>,
                "asio::awaitable cannot await an operation of leat: write co_await "
                "queue.async_pop(asio::use_awaitable) for a queue, or co_await leat::async_run("
                "executor, [&] { return operation; }, asio::use_awaitable)");
  static constexpr bool value = true;
};

template <class T>
struct task_in_awaitable {
  static_assert(!std::same_as<T, asio::this_coro::executor_t>,
                "asio::awaitable cannot await a leat::task: write co_await "
                "leat::async_run(executor, task, asio::use_awaitable)");
  static constexpr bool value = true;
};

/// The type to which Asio tries to convert the awaited object. A check for that type is an error.
template <class T>
concept awaitable_of_operation =
    std::same_as<T, asio::this_coro::executor_t> && operation_in_awaitable<T>::value;
template <class T>
concept awaitable_of_task =
    std::same_as<T, asio::this_coro::executor_t> && task_in_awaitable<T>::value;

}  // namespace LEAT::detail
