#pragma once

#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/internal/local_types.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {

/// Runs a task on another scheduler, and returns its result to the calling task.
///
///     leat::scheduler& s = rt.next_scheduler();
///     const index built = co_await leat::run_on(s, build_index(std::move(rows)));
///
/// The calling task stays on its own scheduler, and waits there. Its other tasks run meanwhile.
/// run_on() returns or throws after the task has ended, so the task may refer to local variables of
/// the caller. Other tasks of the caller's scheduler must not use these variables meanwhile. On the
/// scheduler of the caller, run_on() awaits the task as `co_await t` does.
///
/// `s` must live until run_on() has returned. If `s` is destroyed nevertheless, it ends the task,
/// and run_on() throws `cancelled`. The scheduler of the caller must not be destroyed before the
/// task has ended.
///
/// Errors:       the exception of the task; std::bad_alloc, without having started the task.
/// Cancellation: a stop request to the calling task stops the task. If it returns a result
///               nevertheless, run_on() returns this result.
/// Cost:         its own frame, two posts between the schedulers, and at most two wake-ups of a
///               thread.
template <class T>
[[nodiscard]] task<T> run_on(scheduler& s, task<T> t) {
  if (scheduler::current() == &s) co_return co_await detail::untraced<T>{std::move(t)};
  const std::source_location where = co_await detail::awaited_at();
  detail::tuple_scope<T> scope("run_on", false, !std::is_void_v<T>);
  scope.start_on(s, std::move(t), where);
  co_await scope.join(where);
  scope.rethrow_any();
  if constexpr (!std::is_void_v<T>) co_return std::get<0>(scope.slots).get();
}

/// Rejected: run_on() runs a task.
template <class F>
  requires(!detail::is_task<std::remove_cvref_t<F>>)
auto run_on(scheduler&, F&&) {
  static_assert(detail::is_task<std::remove_cvref_t<F>>,
                "run_on() needs a task: call the function that returns it, or wrap the operation "
                "in a task");
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
