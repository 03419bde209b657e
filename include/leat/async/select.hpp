#pragma once

#include <chrono>
#include <source_location>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

#include "leat/async/detail/limited_awaiter.hpp"
#include "leat/async/detail/select_awaiter.hpp"
#include "leat/async/detail/select_branches.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/detail/task_branch.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/wait_for_stop.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/is_task.hpp"

namespace LEAT {
namespace detail {

/// The source location of the first operation that has one, in contrast to a task.
inline std::source_location first_location() noexcept { return {}; }
template <class First, class... Others>
std::source_location first_location(const First& first, const Others&... others) noexcept {
  if constexpr (!is_task<First>) {
    return first.where();
  } else if constexpr (sizeof...(Others) > 0) {
    return first_location(others...);
  } else {
    return {};
  }
}

template <class Operation, class End>
[[nodiscard]] auto limit(Operation&& operation, End&& end, const std::source_location& where) {
  static_assert(!is_as_tuple<std::remove_cvref_t<Operation>>,
                "a limit goes inside of as_tuple(): write "
                "leat::as_tuple(leat::with_timeout(operation, limit))");
  static_assert(!is_select<std::remove_cvref_t<Operation>>,
                "a limit cannot be around a select(): add leat::sleep_for(limit) or "
                "leat::wait_for_stop(token) to the operations of the select()");
  static_assert(
      selectable<std::remove_cvref_t<Operation>> || is_select<std::remove_cvref_t<Operation>>,
      "with_timeout(), with_deadline() and with_stop() need a task or an operation of leat that "
      "waits: pass queue.pop(), leat::sleep_for() or group.join()");
  static_assert(
      !std::is_lvalue_reference_v<Operation>,
      "with_timeout(), with_deadline() and with_stop() take ownership of the operation: write "
      "std::move(operation)");
  return limited_awaiter<Operation, End>(std::move(operation), std::move(end), where);
}
/// A limit of a limit.
template <class Operation, class... Inner, class End>
[[nodiscard]] auto limit(limited_awaiter<Operation, Inner...>&& inner, End&& end,
                         const std::source_location& /*where*/) {
  return limited_awaiter<Operation, End, Inner...>(std::move(inner), std::move(end));
}

}  // namespace detail

/// Waits for the first of several operations to complete, and performs only that one.
///
///     auto done = co_await leat::select(jobs.pop(), urgent.pop(), leat::sleep_for(1s));
///     if (done.index() == 0) use(std::get<0>(done));
///
/// The other operations have no effect, because select() chooses the winner before it moves any
/// item. Their queues neither lose nor gain an item, and no other waiting operation is skipped. If
/// several operations can complete immediately, the first one in the argument list wins.
///
/// Accepts
/// - pop(), pop_many(), pop_up_to() and push() of queues, the operations of leat/sync.hpp,
///   sleep_for(), sleep_until(), wait_for_stop() and task_group::join();
/// - one irrevocable operation: a task, the next() of a generator, run_blocking(), or an Asio
///   operation with use_task. With it, select() accepts no push to a queue and no send() of a
///   broadcast;
/// - each of these with limits of its own. If a limit expires first, its operation wins, and
///   select() throws the error of the limit.
///
///     // a stop for one of two queues
///     co_await leat::select(leat::with_stop(jobs.pop(), draining), commands.pop());
///
/// It does not accept push_many(), which may have added some of its items when another operation
/// wins. To limit a push_many(), use with_timeout(), with_deadline() or with_stop().
///
/// An irrevocable operation cannot be undone after it has started. It starts last, and only if no
/// other operation can complete immediately. If another operation completes first, that one is the
/// provisional winner: select() asks the task to stop, or cancels the Asio operation, and waits for
/// its end. If the irrevocable operation had an effect nevertheless, it wins, and the other
/// operation is undone: an item that a pop received returns to the front of its queue. A task has
/// an effect if it returns, or throws an error other than the `cancelled` of its stop. An Asio
/// operation has an effect if it succeeds, fails with an error of its own, or has transferred
/// bytes.
///
/// select() owns the operations: you can return the result of select() from a function, or keep it
/// and await it later. The objects that an operation refers to must live until the operation has
/// completed. These are the queue, the group, and the values that are pushed, unless push() copies
/// them.
///
/// Result:        a std::variant of the operations' results, with std::monostate for void.
/// Errors:        the exception of the winner, such as the deadline_exceeded of its limit;
///                `cancelled`; std::bad_alloc, without any effect.
/// Cancellation:  total: if a stop is requested before there is a winner, no operation has an
///                effect. An irrevocable operation that has an effect nevertheless wins.
/// Thread safety: like the operations; other threads may use the same queues.
/// Cost:          for each operation, joining and leaving one wait queue, and for each limit one
///                timer or callback; no allocation. An operation that completes immediately costs
///                no more than without select().
template <class... Operations>
[[nodiscard]] auto select(Operations&&... operations) {
  static_assert((!detail::is_as_tuple<std::remove_cvref_t<Operations>> && ...),
                "select() goes inside of as_tuple(): write "
                "leat::as_tuple(leat::select(operations...))");
  static_assert(sizeof...(Operations) > 0, "select() needs at least one operation to wait for");
  static_assert((!detail::is_select<std::remove_cvref_t<Operations>> && ...),
                "a select() cannot be inside of another select(): write all operations in one");
  static_assert((detail::selectable<detail::operation_of<std::remove_cvref_t<Operations>>> && ...),
                "select() needs a task or operations of leat, such as queue.pop() or "
                "group.join(): write leat::sleep_for(limit) for a time limit");
  static_assert((!std::is_lvalue_reference_v<Operations> && ...),
                "select() takes ownership of its operations: write std::move(operation)");
  static_assert(
      (static_cast<int>(
           detail::irrevocable<detail::operation_of<std::remove_cvref_t<Operations>>>) +
       ... + 0) <= 1,
      "select() accepts at most one operation that cannot be undone after it has started "
      "(a task, an Asio operation or run_blocking()), because both could complete: await each in "
      "its own task and join the tasks with when_any(), which returns both results");
  static_assert(
      !(detail::irrevocable<detail::operation_of<std::remove_cvref_t<Operations>>> || ...) ||
          (detail::undoable<detail::operation_of<std::remove_cvref_t<Operations>>> && ...),
      "select() does not accept a push next to an operation that cannot be undone (a "
      "task, an Asio operation or run_blocking()): if that operation completes despite its "
      "cancellation, the push cannot be undone, because another task may have popped "
      "the item. Push before or after the select(), or in a separate task");
  static_assert(
      ((!detail::partially_completable<detail::operation_of<std::remove_cvref_t<Operations>>> ||
        detail::irrevocable<detail::operation_of<std::remove_cvref_t<Operations>>>) &&
       ...),
      "select() does not accept push_many, which may add only some of its items: use "
      "with_timeout, with_deadline or with_stop, or push item by item");
  return detail::select_awaiter<Operations...>(
      detail::select_state::select_kind, detail::first_location(operations...),
      std::tuple_cat(detail::unstarted_branches(std::move(operations))...));
}

/// Limits an operation or a task to a time span, which begins when the result is awaited. If the
/// limit expires, an operation of leat other than push_many() ends without an effect.
///
///     auto item = co_await leat::with_timeout(queue.pop(), 10ms);
///     auto answer = co_await leat::with_timeout(handle(request), 5s);
///
/// If the limit of a task expires, the task is asked to stop, and with_timeout() waits until it has
/// ended. A task that returns a result or throws an error of its own despite the stop wins. A task
/// that has not ended ten seconds after its stop request is printed to standard error.
///
/// If the limit of an Asio operation expires, with_timeout() cancels the operation and waits until
/// it has ended. The result that the operation then reports decides: see use_task. A function of
/// run_blocking() is asked to stop in the same way: see run_blocking().
///
/// A limit of 0 or less is valid: an operation succeeds if it need not wait, and a task if it never
/// waits.
///
/// Limits compose: the first one that expires ends the operation, with its code. If several have
/// expired when the scheduler runs again, the earlier one counts, and of two at the same time the
/// inner one.
///
///     // an idle limit and the drain of a server
///     co_await leat::with_timeout(leat::with_stop(read_line(peer), draining), 60s);
///
/// with_timeout() owns the operation, as select() does: you can return its result from a function.
///
/// Accepts the operations of select(), and push_many() of queues. The items that a push_many() has
/// added remain in the queue. push_many() then throws a partial_push_error with the number of these
/// items and the code of the limit or stop that ended it.
///
/// Errors:       deadline_exceeded, with a description of the operation and the length and place of
///               the limit; the exception of the operation; `cancelled`. To receive the code
///               instead of an exception, put as_tuple() outside: as_tuple(with_timeout(...)).
/// Cancellation: total; partial for push_many(). A task or an Asio operation that completes despite
///               the stop wins.
/// Cost:         like select().
template <class Operation>
[[nodiscard]] auto with_timeout(
    Operation&& operation, time_span limit,
    const std::source_location& where = std::source_location::current()) {
  return detail::limit(std::forward<Operation>(operation), sleep_for(limit, where), where);
}

/// Like with_timeout(), but with an absolute deadline.
template <class Operation, class Duration>
[[nodiscard]] auto with_deadline(
    Operation&& operation, std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
    const std::source_location& where = std::source_location::current()) {
  return detail::limit(std::forward<Operation>(operation), sleep_until(deadline, where), where);
}

/// Like with_timeout(), but the operation ends when a stop is requested through `token`. If a stop
/// was requested before, a task or an Asio operation does not start.
///
///     auto item = co_await leat::with_stop(queue.pop(), token);
///
/// Use it for each wait of a coroutine of another library: such a coroutine has no owner that could
/// stop it.
///
/// Errors: `cancelled`, with a description of the operation and the place of the call; the
///         exception of the operation.
template <class Operation>
[[nodiscard]] auto with_stop(Operation&& operation, std::stop_token token,
                             const std::source_location& where = std::source_location::current()) {
  return detail::limit(std::forward<Operation>(operation), wait_for_stop(std::move(token), where),
                       where);
}

}  // namespace LEAT
