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

}  // namespace detail
}  // namespace leat
