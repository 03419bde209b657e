#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/joins/settled.hpp"
#include "leat/async/task.hpp"
#include "leat/async/when_all.hpp"
#include "leat/base/internal/is_task.hpp"

namespace LEAT {

/// Runs tasks concurrently and returns how each of them has ended. Unlike when_all(), it keeps the
/// results of tasks that have returned, whatever happens to the others.
///
///     auto taken = co_await leat::with_timeout(leat::when_all_settled(take(x), take(y)), 10ms);
///     auto& [a, b] = taken;
///     if (a) use(a.value());  // although b was cancelled by the limit
///
/// An error of a task does not stop the others. A stop request, and a limit around the call, stop
/// all tasks that have not ended; their ends are `cancelled`.
///
/// Result:       a std::tuple of settled<T> in the order of the arguments.
/// Errors:       std::bad_alloc, which stops the tasks already started.
/// Cancellation: a stop request to the calling task stops the tasks. when_all_settled() returns.
/// Cost:         its own frame, and two frames for each task.
template <class... T>
[[nodiscard]] task<std::tuple<settled<T>...>> when_all_settled(task<T>... tasks) {
  return when_all(detail::settle(std::move(tasks))...);
}

/// Like when_all_settled() above, but for any number of tasks of the same type.
///
/// Result: a std::vector of settled<T> in the order of `tasks`.
template <class T>
[[nodiscard]] task<std::vector<settled<T>>> when_all_settled(std::vector<task<T>>&& tasks) {
  std::vector<task<settled<T>>> settling;
  settling.reserve(tasks.size());
  for (task<T>& t : tasks) settling.push_back(detail::settle(std::move(t)));
  return when_all(std::move(settling));
}

/// Rejected: when_all_settled() takes ownership of the tasks.
template <class T>
auto when_all_settled(const std::vector<task<T>>&) {
  static_assert(!detail::is_task<task<T>>,
                "when_all_settled() takes ownership of its tasks: write std::move(tasks)");
}

/// Rejected: when_all_settled() joins tasks.
template <class... Operations>
  requires((detail::must_be_awaited<std::remove_cvref_t<Operations>> &&
            !detail::is_task<std::remove_cvref_t<Operations>>) ||
           ...)
auto when_all_settled(Operations&&...) {
  static_assert((detail::is_task<std::remove_cvref_t<Operations>> && ...),
                "when_all_settled() needs tasks, not operations: wrap each operation in a task");
}

}  // namespace LEAT
