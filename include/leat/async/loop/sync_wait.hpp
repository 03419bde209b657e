#pragma once

#include <source_location>
#include <type_traits>
#include <utility>

#include "leat/async/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/internal/assert.hpp"

namespace leat {

namespace detail {

/// Runs a task, and the work that it leaves behind, in its own event loop. Throws the task's error.
void run_in_own_loop(task<> t, const std::source_location& where);

}  // namespace detail

/// Runs a task on this thread until it finishes. Returns its result or throws its error. If an Asio
/// handler throws an exception, the task is asked to stop, and sync_wait() throws that exception
/// when the task has ended.
///
/// Creates an event loop for the call. Use it in main(), in tests and in programs without an event
/// loop. Do not call it on a scheduler's own thread: `co_await` the task there.
///
///     int main() { return leat::sync_wait(run()); }
///
/// Thread safety: thread-safe. Cost: an io_context.
template <class T>
T sync_wait(task<T> t, std::source_location where = std::source_location::current()) {
  LEAT_ASSERT(scheduler::current() == nullptr,
              "sync_wait() on a scheduler thread would deadlock: co_await the task");
  detail::result_slot<T> slot;
  detail::run_in_own_loop(detail::store_result(std::move(t), slot), where);
  return slot.take();
}

/// Rejects an operation that is not a task: `co_await` the operation in a task.
template <class Operation>
  requires(!detail::is_task<std::remove_cvref_t<Operation>>)
auto sync_wait(Operation&&) {
  static_assert(detail::is_task<Operation>,
                "sync_wait() needs a task: co_await the operation in a task, or write "
                "queue.wait_pop() or group.wait_join()");
}

}  // namespace leat
