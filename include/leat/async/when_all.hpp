#pragma once

#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/task.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/local_types.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {

/// Runs tasks concurrently and returns all their results.
///
///     auto loaded = co_await leat::when_all(load_user(id), load_orders(id));
///     auto& [user, orders] = loaded;
///
/// The tasks run on the scheduler of the calling task, one at a time, so they need no lock for data
/// that they share. The first error stops the other tasks. when_all() returns or throws after all
/// tasks have finished, so the tasks may refer to local variables of the caller. To run operations
/// concurrently, wrap each of them in a task.
///
/// Result:       a std::tuple of the results in the order of the arguments, with std::monostate for
///               void. Without arguments, an empty tuple.
/// Errors:       the first error of a task; std::bad_alloc, which stops the tasks already started;
///               `cancelled` if a stop request ended a task before it had a result. The results of
///               tasks that have returned are then lost: to keep them, use when_all_settled().
/// Cancellation: a stop request to the calling task stops the tasks. If all of them return a result
///               nevertheless, when_all() returns the results.
/// Cost:         its own frame; no allocation beyond it and the frames of the tasks.
template <class... T>
[[nodiscard]] task<std::tuple<detail::joint_result<T>...>> when_all(task<T>... tasks) {
  const std::source_location where = co_await detail::awaited_at();
  constexpr bool has_results = (!std::is_void_v<T> || ...);
  detail::tuple_scope<T...> scope("when_all", false, has_results);
  scope.start_all(where, tasks...);
  co_await scope.join(where);
  scope.rethrow_any();
  if constexpr (has_results) {
    co_return std::apply(
        [](auto&... slots) { return std::tuple<detail::joint_result<T>...>(slots.get()...); },
        scope.slots);
  } else {
    co_return std::tuple<detail::joint_result<T>...>();
  }
}

namespace detail {

template <class T>
auto when_all_of(std::vector<task<T>> tasks)
    -> task<std::conditional_t<std::is_void_v<T>, void, std::vector<joint_result<T>>>> {
  static_assert(!std::is_reference_v<T>,
                "when_all() of a vector needs tasks without a reference result: return a pointer");
  const std::source_location where = co_await awaited_at();
  vector_scope<T> scope("when_all", tasks.size(), false, !std::is_void_v<T>);
  scope.start_all(tasks, where);
  co_await scope.join(where);
  scope.rethrow_any();
  if constexpr (!std::is_void_v<T>) {
    std::vector<T> results;
    results.reserve(scope.slots.size());
    for (auto& slot : scope.slots) results.push_back(slot.get());
    co_return results;
  }
}

}  // namespace detail

/// Like when_all() above, but for any number of tasks of the same type.
///
/// Result: a std::vector of the results in the order of `tasks`, which is empty if there are no
///         tasks; nothing for tasks without a result.
/// Cost:   also the memory for the results.
template <class T>
[[nodiscard]] auto when_all(std::vector<task<T>>&& tasks) {
  return detail::when_all_of(std::move(tasks));
}

/// Rejected: when_all() takes ownership of the tasks.
template <class T>
auto when_all(const std::vector<task<T>>&) {
  static_assert(!detail::is_task<task<T>>,
                "when_all() takes ownership of its tasks: write std::move(tasks)");
}

/// Rejected: when_all() joins tasks.
template <class... Operations>
  requires((detail::must_be_awaited<std::remove_cvref_t<Operations>> &&
            !detail::is_task<std::remove_cvref_t<Operations>>) ||
           ...)
auto when_all(Operations&&...) {
  static_assert((detail::is_task<std::remove_cvref_t<Operations>> && ...),
                "when_all() needs tasks, not operations: wrap each operation in a task");
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
