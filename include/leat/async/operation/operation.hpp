#pragma once

#include <concepts>
#include <cstddef>
#include <source_location>
#include <system_error>
#include <utility>

#include "leat/async/operation/waiter.hpp"

namespace LEAT {

/// Who performs an operation, and where: for an object that remembers its holder.
struct caller {
  const task_context* task = nullptr;  ///< null: a thread, a handler or a coroutine of no task
  std::source_location where = {};     ///< the call
};

/// A call that may have to wait, such as the pop of a queue or the lock of a mutex.
///
/// Its author supplies these members. leat supplies the forms: `co_await`, limits and select(),
/// as_tuple(), a completion token, and a call that blocks a thread.
///
///     using waiter = ...;                // what a wait needs: a class derived from leat::waiter,
///                                        // constructed from the operation and a source location
///     bool try_complete(caller);         // without a wait; true: done. May throw, without effect
///     static bool begin(waiter&);        // adds the wait; true: it has ended instead, not woken
///     static bool withdraw(waiter&) noexcept;  // ends the wait as `cancelled` without a wake-up;
///                                        // false: it had ended
///     void undo(waiter&) noexcept;       // it is done, but its result is not used
///     auto result(wait_outcome);         // of `done` or `closed`
///     static constexpr bool undoable;    // undo() leaves no trace
///
/// begin() is called at most once. An operation is moved only before it is tried. withdraw() may be
/// called several times, from any thread, also when the wait has ended and its object is gone. So
/// it looks at waiter::is_linked() first. result() runs where the operation waits, and undo() runs
/// instead of it, for example in a destructor. For the part of the object, see waiter.
///
/// See docs/operations.md. The concepts in this header may change in 0.4.
template <class O>
concept operation = std::move_constructible<O> && std::derived_from<typename O::waiter, waiter> &&
                    std::constructible_from<typename O::waiter, O&, const std::source_location&> &&
                    requires(O& o, typename O::waiter& w, caller c) {
                      { o.try_complete(c) } -> std::same_as<bool>;
                      { O::begin(w) } -> std::same_as<bool>;
                      { O::withdraw(w) } noexcept -> std::same_as<bool>;
                      { o.undo(w) } noexcept;
                      { O::undoable } -> std::convertible_to<bool>;
                    };

/// An operation next to which select() accepts one that is irrevocable.
template <class O>
concept undoable_operation = operation<O> && O::undoable;

/// An undoable operation whose undo() could fail, unless it began with begin_provisional(). Then
/// commit() or undo() ends it.
template <class O>
concept provisional_operation = undoable_operation<O> && requires(O& o, typename O::waiter& w) {
  { o.begin_provisional(w) } -> std::same_as<bool>;
  { O::commit(w) } noexcept;
};

/// An operation that may be partly complete when it is cancelled, such as a push of many items:
/// moved() of count(). result() receives moved(). withdraw_unless_begun() needs moved() to be 0.
template <class O>
concept partial_operation = operation<O> && requires(O& o, typename O::waiter& w) {
  o.result(wait_outcome::cancelled, w.moved());
  { w.is_complete() } noexcept -> std::same_as<bool>;
  { O::withdraw_unless_begun(w) } noexcept -> std::same_as<bool>;
};

/// An operation whose result says whether it has had an effect, such as a push, which a closed
/// queue refuses. It has a member `static constexpr bool result_matters = true`. Compilers that
/// apply [[nodiscard]] to `co_await`, such as clang, warn if the result is ignored.
template <class O>
concept operation_whose_result_matters = operation<O> && O::result_matters;

namespace detail {

template <class O>
struct deduced_result {
  using type = decltype(std::declval<O&>().result(wait_outcome::done));
};
template <partial_operation O>
struct deduced_result<O> {
  using type = decltype(std::declval<O&>().result(wait_outcome::done, std::size_t()));
};

/// True for an operation on no items, which succeeds even after a stop request.
template <class O>
[[nodiscard]] constexpr bool is_empty_operation_of([[maybe_unused]] const O& o) noexcept {
  if constexpr (requires { o.is_empty(); }) return o.is_empty();
  return false;
}

/// Returns the result of an operation that was done without a wait.
template <class O>
auto result_at_once(O& o) {
  if constexpr (partial_operation<O>) {
    return o.result(wait_outcome::done, o.count());
  } else {
    return o.result(wait_outcome::done);
  }
}
/// Returns the result of an operation that has waited.
template <class O>
auto result_after_wait(O& o, const typename O::waiter& w) {
  if constexpr (partial_operation<O>) {
    return o.result(w.outcome(), w.moved());
  } else {
    return o.result(w.outcome());
  }
}

/// Ends a wait as cancelled and wakes it. Returns false if it has ended before.
template <class O>
bool cancel_wait(typename O::waiter& w) noexcept {
  if (!O::withdraw(w)) return false;
  w.wake();
  return true;
}

}  // namespace detail

/// The result of an operation.
template <operation O>
using result_of = typename detail::deduced_result<O>::type;

}  // namespace LEAT
