#pragma once

#include <optional>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/local_types.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {
namespace detail {

/// Returns what when_any() returns, after the join.
template <class Scope>
[[nodiscard]] auto results_of_race(Scope& scope) {
  scope.rethrow_error();
  if (!scope.any([](const auto& slot) { return slot.value.has_value(); })) scope.rethrow_any();
  return scope.transform([](auto& slot) { return std::move(slot.value); });
}

}  // namespace detail

/// Runs tasks concurrently until the first of them returns, and then stops the others.
///
///     auto answers = co_await leat::when_any(ask(mirror), ask(origin));
///     auto& [fast, safe] = answers;
///     if (fast) use(*fast);
///
/// when_any() returns or throws after all tasks have finished, so the tasks may refer to local
/// variables of the caller. A task that was asked to stop may still return a result, for example
/// because its data had already arrived. Several optionals may therefore have a value.
///
/// The tasks run on the scheduler of the calling task. To wait for operations, use select().
///
/// Result:       a std::tuple of std::optional in the order of the arguments, of which at least one
///               has a value; std::monostate for void.
/// Errors:       the first error of a task, which also stops the other tasks. The results are then
///               lost: see when_any_success() and when_all_settled(). `cancelled` if a stop request
///               ended all tasks before one had a result. std::bad_alloc, which stops the tasks
///               that have started.
/// Cancellation: a stop request to the calling task stops the tasks. If one of them returns a
///               result nevertheless, when_any() returns the results.
/// Cost:         its own frame; no allocation beyond it and the frames of the tasks.
template <class... T>
[[nodiscard]] task<std::tuple<std::optional<detail::joint_result<T>>...>> when_any(
    task<T>... tasks) {
  static_assert(sizeof...(T) > 0, "when_any() needs at least one task");
  static_assert((!std::is_reference_v<T> && ...),
                "when_any() needs tasks without a reference result: return a pointer");
  const std::source_location where = co_await detail::awaited_at();
  detail::tuple_scope<T...> scope("when_any", true);
  scope.start_all(where, tasks...);
  co_await scope.join(where);
  co_return detail::results_of_race(scope);
}

namespace detail {

template <class T>
task<std::vector<std::optional<joint_result<T>>>> when_any_of(std::vector<task<T>> tasks) {
  static_assert(!std::is_reference_v<T>,
                "when_any() needs tasks without a reference result: return a pointer");
  if (tasks.empty()) {
    throw failure(errc::invalid_argument, "when_any() of no tasks: pass at least one");
  }
  const std::source_location where = co_await awaited_at();
  vector_scope<T> scope("when_any", tasks.size(), true);
  scope.start_all(tasks, where);
  co_await scope.join(where);
  co_return results_of_race(scope);
}

}  // namespace detail

/// Like when_any() above, but for any number of tasks of the same type.
///
/// Result: a std::vector of std::optional in the order of `tasks`; std::monostate for void.
/// Errors: also invalid_argument if `tasks` is empty.
/// Cost:   also the memory for the results.
template <class T>
[[nodiscard]] task<std::vector<std::optional<detail::joint_result<T>>>> when_any(
    std::vector<task<T>>&& tasks) {
  return detail::when_any_of(std::move(tasks));
}

/// Rejected: when_any() takes ownership of the tasks.
template <class T>
auto when_any(const std::vector<task<T>>&) {
  static_assert(!detail::is_task<task<T>>,
                "when_any() takes ownership of its tasks: write std::move(tasks)");
}

/// Rejected: when_any() joins tasks. To wait for operations, use select().
template <class... Operations>
  requires((detail::must_be_awaited<std::remove_cvref_t<Operations>> &&
            !detail::is_task<std::remove_cvref_t<Operations>>) ||
           ...)
auto when_any(Operations&&...) {
  static_assert(
      (detail::is_task<std::remove_cvref_t<Operations>> && ...),
      "when_any() needs tasks, not operations: wrap each operation in a task, or use select()");
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
