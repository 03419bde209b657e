#pragma once

#include <type_traits>

#include "leat/base/flavour.hpp"

namespace LEAT {

template <class T>
class task;
template <class T>
class async_generator;

namespace detail {

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

template <class T>
inline constexpr bool is_generator = false;
template <class T>
inline constexpr bool is_generator<async_generator<T>> = true;

/// True for a type that does nothing until it is awaited: a task, an operation such as queue.pop(),
/// an awaitable of Asio or another library.
template <class T>
concept must_be_awaited = is_task<T> || requires(T& awaitable) {
  awaitable.await_ready();
} || requires(T&& awaitable) { static_cast<T&&>(awaitable).operator co_await(); };

/// True if a call of F with these arguments returns something that must be awaited.
template <class F, class... Args>
concept returns_awaitable = std::is_invocable_v<F, Args...> &&
                            must_be_awaited<std::remove_cvref_t<std::invoke_result_t<F, Args...>>>;

/// True if a call of F with these arguments returns a Result, not something that converts to it.
template <class Result, class F, class... Args>
concept returns_exactly =
    std::is_invocable_v<F, Args...> && std::is_same_v<std::invoke_result_t<F, Args...>, Result>;

/// The task that a call of F with these arguments returns; task<void>, with `value` false, if it
/// returns something else.
template <class F, class... Args>
struct task_of_call : std::false_type {
  using type = task<void>;
};
template <class F, class... Args>
  requires is_task<std::invoke_result_t<F, Args...>>
struct task_of_call<F, Args...> : std::true_type {
  using type = std::invoke_result_t<F, Args...>;
};

}  // namespace detail
}  // namespace LEAT
