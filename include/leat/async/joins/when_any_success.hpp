#pragma once

#include <exception>
#include <optional>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/joins/settled.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/is_task.hpp"

namespace LEAT {
namespace detail {

/// An error of a task does not end the race.
template <class T>
struct ends_race<settled<T>> {
  static bool with(const settled<T>& s) noexcept { return s.has_value(); }
};

/// Returns what when_any_success() returns, after the join. If all tasks have failed, throws the
/// first exception in the order of the arguments that is not the `cancelled` of a stop.
template <class Scope>
[[nodiscard]] auto successes_of_race(Scope& scope) {
  scope.rethrow_error();
  std::exception_ptr error;
  std::exception_ptr cancelled;
  const bool any = scope.any([&](const auto& slot) {
    if (!slot.value) return false;
    if (slot.value->has_value()) return true;
    std::exception_ptr& kept = slot.value->code() == errc::cancelled ? cancelled : error;
    if (!kept) kept = slot.value->exception();
    return false;
  });
  if (!any) std::rethrow_exception(error ? error : cancelled);
  return scope.transform([](auto& slot) {
    using value = std::remove_cvref_t<decltype(slot.value->value())>;
    if (!slot.value || !slot.value->has_value()) return std::optional<value>();
    return std::optional<value>(std::move(slot.value->value()));
  });
}

}  // namespace detail

/// Runs tasks concurrently until the first of them returns, and then stops the others. Unlike
/// when_any(), a task that fails does not end the others: for a request that is sent to several
/// servers.
///
///     auto answers = co_await leat::when_any_success(ask(mirror), ask(origin));
///     auto& [fast, safe] = answers;
///     use(fast ? *fast : *safe);
///
/// when_any_success() returns or throws after all tasks have finished. A task that was asked to
/// stop may still return a result, so several optionals may have a value.
///
/// Result:       a std::tuple of std::optional in the order of the arguments, of which at least one
///               has a value; std::monostate for void.
/// Errors:       if all tasks have failed, the exception of the first argument whose task has not
///               ended with `cancelled`. `cancelled`, if all have. std::bad_alloc, which stops the
///               tasks that have started.
/// Cancellation: a stop request to the calling task stops the tasks. If one of them returns a
///               result nevertheless, when_any_success() returns the results.
/// Cost:         its own frame, and two frames for each task.
template <class... T>
[[nodiscard]] task<std::tuple<std::optional<detail::joint_result<T>>...>> when_any_success(
    task<T>... tasks) {
  static_assert(sizeof...(T) > 0, "when_any_success() needs at least one task");
  const std::source_location where = co_await detail::awaited_at();
  detail::tuple_scope<settled<T>...> scope("when_any_success", true);
  std::tuple<task<settled<T>>...> settling(detail::settle(std::move(tasks))...);
  std::apply([&](auto&... t) { scope.start_all(where, t...); }, settling);
  co_await scope.join(where);
  co_return detail::successes_of_race(scope);
}

namespace detail {

template <class T>
task<std::vector<std::optional<joint_result<T>>>> when_any_success_of(std::vector<task<T>> tasks) {
  if (tasks.empty()) {
    throw failure(errc::invalid_argument, "when_any_success() of no tasks: pass at least one");
  }
  const std::source_location where = co_await awaited_at();
  vector_scope<settled<T>> scope("when_any_success", tasks.size(), true);
  std::vector<task<settled<T>>> settling;
  settling.reserve(tasks.size());
  for (task<T>& t : tasks) settling.push_back(settle(std::move(t)));
  scope.start_all(settling, where);
  co_await scope.join(where);
  co_return successes_of_race(scope);
}

}  // namespace detail

/// Like when_any_success() above, but for any number of tasks of the same type.
///
/// Result: a std::vector of std::optional in the order of `tasks`; std::monostate for void.
/// Errors: also invalid_argument if `tasks` is empty.
template <class T>
[[nodiscard]] task<std::vector<std::optional<detail::joint_result<T>>>> when_any_success(
    std::vector<task<T>>&& tasks) {
  return detail::when_any_success_of(std::move(tasks));
}

/// Rejected: when_any_success() takes ownership of the tasks.
template <class T>
auto when_any_success(const std::vector<task<T>>&) {
  static_assert(!detail::is_task<task<T>>,
                "when_any_success() takes ownership of its tasks: write std::move(tasks)");
}

/// Rejected: when_any_success() joins tasks.
template <class... Operations>
  requires((detail::must_be_awaited<std::remove_cvref_t<Operations>> &&
            !detail::is_task<std::remove_cvref_t<Operations>>) ||
           ...)
auto when_any_success(Operations&&...) {
  static_assert((detail::is_task<std::remove_cvref_t<Operations>> && ...),
                "when_any_success() needs tasks, not operations: wrap each operation in a task");
}

}  // namespace LEAT
