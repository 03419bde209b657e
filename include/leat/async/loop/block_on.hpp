#pragma once

#include <source_location>
#include <type_traits>
#include <utility>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {

namespace detail {

/// Runs a task, and the work that it leaves behind, in its own event loop. Throws the task's error.
void run_in_own_loop(task<> t, const wait_limit& limit, const std::source_location& where);

/// An awaitable that can block a thread instead: an operation, or a join of a task group.
template <class T>
concept blockable =
    requires(T&& awaitable, const wait_limit& limit) { std::forward<T>(awaitable).block(limit); };

}  // namespace detail

/// Blocks this OS thread until an operation has ended, and returns its result.
///
///     std::optional<int> item = leat::block_on(queue.pop(), 10ms);
///     leat::block_on(group.join());
///
/// `operation` is what a coroutine would `co_await`: an operation of a queue or of a primitive, one
/// of your own, or the join() of a task group. `limit` is a stop token, a time or both; by default
/// there is none. If the limit has been reached before the call:
///
/// - After a stop request the operation fails with `cancelled`, even if it need not wait.
/// - After the deadline it still succeeds if it need not wait.
/// - A queue operation with zero items always succeeds.
///
/// In a thread that coordinator::start_thread() started, a stop of the coordinator ends the
/// operation and all later ones with `cancelled`, as in a task.
///
/// Precondition: the thread does not run a scheduler. In a task, `co_await` the operation.
/// Errors:       the errors of the operation; with a limit, cancelled and deadline_exceeded.
/// Cancellation: as in a task: total, unless the operation says otherwise.
/// Cost:         the cost of the operation. If it waits, the thread sleeps.
template <detail::blockable Operation>
decltype(auto) block_on(Operation&& operation, const wait_limit& limit = {}) {
  return std::forward<Operation>(operation).block(limit);
}

/// Runs a task on this thread until it finishes. Returns its result or throws its error. If an Asio
/// handler throws an exception, the task is asked to stop, and block_on() throws that exception
/// when the task has ended.
///
///     const std::size_t words = leat::block_on(count(paths));
///
/// Creates an event loop for the call. Use it in tests and in programs without an event loop; run()
/// is the form for main(). The limit stops the task like with_deadline() and with_stop(). In a
/// thread of a coordinator, a stop of the coordinator stops the task.
///
/// Precondition:  the thread does not run a scheduler. In a task, `co_await` the task.
/// Thread safety: thread-safe. Cost: an io_context.
template <class T>
T block_on(task<T> t, const wait_limit& limit = {},
           std::source_location where = std::source_location::current()) {
  LEAT_ASSERT(scheduler::current() == nullptr,
              "block_on() on a scheduler thread would deadlock: co_await the task");
  detail::result_slot<T> slot;
  detail::run_in_own_loop(detail::store_result(std::move(t), slot), limit, where);
  return slot.take();
}

/// Rejects everything else: `co_await` it in a task.
template <class Awaitable>
  requires(!detail::is_task<std::remove_cvref_t<Awaitable>> && !detail::blockable<Awaitable>)
auto block_on(Awaitable&&, const wait_limit& = {}) {
  static_assert(detail::is_task<Awaitable>,
                "block_on() needs a task or an operation of a queue or primitive: co_await others "
                "in a task");
}

/// The name of block_on() in 0.2.
template <class T>
[[deprecated("write leat::block_on(task)")]] T sync_wait(
    task<T> t, std::source_location where = std::source_location::current()) {
  return block_on(std::move(t), {}, where);
}

}  // namespace LEAT
