#pragma once

#include <type_traits>

namespace leat {

template <class T>
class task;

namespace detail {

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

/// True if a call of F with these arguments returns a task.
template <class F, class... Args>
concept returns_task = std::is_invocable_v<F, Args...> &&
                       is_task<std::remove_cvref_t<std::invoke_result_t<F, Args...>>>;

/// True if a call of F with these arguments returns a Result, not something that converts to it.
template <class Result, class F, class... Args>
concept returns_exactly =
    std::is_invocable_v<F, Args...> && std::is_same_v<std::invoke_result_t<F, Args...>, Result>;

}  // namespace detail
}  // namespace leat
