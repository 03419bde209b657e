#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <ostream>
#include <source_location>
#include <sstream>
#include <stop_token>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/detail/result_tuple.hpp"
#include "leat/async/detail/select_branches.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/wait_for_stop.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/detail/assert.hpp"
#include "leat/base/detail/is_task.hpp"
#include "leat/base/error.hpp"

namespace leat {
namespace detail {

[[nodiscard, gnu::cold]] failure select_cancelled(const std::string& what);

// The error code with which a limit, which is a sleep or a stop, ends an operation.
template <class End>
inline constexpr errc limit_error_code = errc::deadline_exceeded;
template <>
inline constexpr errc limit_error_code<stop_wait> = errc::cancelled;
[[nodiscard, gnu::cold]] failure limit_error(errc end, const std::string& what);

template <class First, class... Others>
const std::source_location& first_location(const First& first, const Others&...) noexcept {
  return first.where();
}

template <class Operation>
using branch_result = decltype(std::declval<select_branch<Operation>&>().result());

template <std::size_t I, class Operation>
struct indexed_branch : select_branch<Operation> {
  template <class From>
  indexed_branch(From&& from, select_state& s)
      : select_branch<Operation>(std::move(from), s, static_cast<int>(I)) {}
};

template <class Indices, class... Operations>
struct select_branches;
template <std::size_t... I, class... Operations>
struct select_branches<std::index_sequence<I...>, Operations...>
    : indexed_branch<I, Operations>... {
  explicit select_branches(select_state& s, Operations&&... operations)
      : indexed_branch<I, Operations>(std::move(operations), s)... {}
  select_branches(select_state& s, select_branches&& unstarted)
      : indexed_branch<I, Operations>(static_cast<indexed_branch<I, Operations>&&>(unstarted),
                                      s)... {}

  // Calls f with each branch and its number until f returns true.
  template <class F>
  bool any(F&& f) {
    return (f(static_cast<indexed_branch<I, Operations>&>(*this),
              std::integral_constant<std::size_t, I>()) ||
            ...);
  }
  void describe(std::ostream& out) const {
    ((out << (I == 0 ? "" : ", or "),
      static_cast<const indexed_branch<I, Operations>&>(*this).describe(out)),
     ...);
  }
};

/// The awaitable that select() returns. Movable until it is awaited.
template <class... Operations>
class [[nodiscard]] select_awaiter final : public select_state {
 public:
  using result_type = std::variant<branch_result<Operations>...>;

  explicit select_awaiter(const std::source_location& where, Operations&&... operations)
      : select_state(&describe_all, where), branches_(*this, std::move(operations)...) {}
  select_awaiter(select_awaiter&& unstarted) noexcept
      : select_state(&describe_all, unstarted.where()),
        branches_(*this, std::move(unstarted.branches_)) {
    LEAT_ASSERT(unstarted.winner() == nobody && !unstarted.suspended_,
                "select moved after it was awaited: create a new one for each co_await");
  }
  select_awaiter& operator=(select_awaiter&&) = delete;
  ~select_awaiter() {
    // If the coroutine is destroyed while it waits, no operation may win any more.
    if (suspended_ && !claim(stop)) undo();
  }

  /// Called by leat::task before anything else.
  void bind(promise_base& promise, std::coroutine_handle<>) noexcept { task_ = &promise.context(); }

  bool await_ready() {
    const bool stopped = task_ && task_->stop_requested();
    const bool done = branches_.any([&](auto& a, auto index) {
      return (!stopped || is_empty_operation(a)) && a.try_complete() &&
             claim(static_cast<int>(index()));
    });
    // Do not wait after a stop: operations that were not tried have reserved no memory for a wait.
    if (stopped && !done) return claim(stop);
    return done && (!task_ || task_->get_scheduler().consume_budget());
  }

  bool await_suspend(std::coroutine_handle<> h) {
    begin_wait(task_, h);
    suspended_ = true;
    if (winner() != nobody) {  // complete, but other ready tasks run first
      wake();
      return true;
    }
    if (task_ && task_->stop_requested()) {
      static_cast<void>(claim(stop));
    } else if (!begin()) {
      return true;
    }
    abandon_wait();
    return false;
  }

  result_type await_resume() {
    end();
    if (winner() == stop) throw select_cancelled(text());
    return result();
  }
  result_tuple<result_type> await_tuple() noexcept {
    end();
    const bool stopped = winner() == stop;
    return tuple_of<result_type>(stopped ? make_error_code(errc::cancelled) : std::error_code(),
                                 [this] { return result(); });
  }

  /// Ends a select whose last operation may be completed in part, and returns the branch of that
  /// operation. If another operation has won, the last one fails with `limit_code` unless it is
  /// already complete.
  auto& finish_partial(std::error_code limit_code) {
    end();
    if (begin_error_) std::rethrow_exception(begin_error_);
    constexpr std::size_t index = sizeof...(Operations) - 1;
    using operation = std::tuple_element_t<index, std::tuple<Operations...>>;
    auto& last = static_cast<indexed_branch<index, operation>&>(branches_);
    if (winner() == stop) limit_code = make_error_code(errc::cancelled);
    if (winner() != static_cast<int>(index)) last.interrupt(limit_code);
    return last;
  }

  /// Describes the operations that are waited for.
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    branches_.describe(out);
    return std::move(out).str();
  }

 private:
  // Returns true if the select has ended and nothing will wake the coroutine.
  bool begin() noexcept {
    bool here = false;
    try {
      branches_.any([&](auto& a, auto) {
        here = a.begin();
        return here || winner() != nobody;
      });
    } catch (...) {
      // No operation has had an effect, unless an earlier one has won in the meantime.
      here = claim(error);
      if (here) begin_error_ = std::current_exception();
    }
    return here;
  }

  // Undoes the winner, because the coroutine is destroyed with its scheduler before it resumes.
  [[gnu::cold]] void undo() noexcept {
    withdraw_wakeup();
    branches_.any([this](auto& a, auto index) {
      if (static_cast<int>(index()) != winner()) return false;
      if constexpr (requires { a.undo(); }) a.undo();
      return true;
    });
  }

  // Withdraws the operations that have lost.
  void end() noexcept {
    suspended_ = false;
    branches_.any([this](auto& a, auto index) {
      if (static_cast<int>(index()) != winner()) a.withdraw();
      return false;
    });
  }

  result_type result() {
    if (begin_error_) std::rethrow_exception(begin_error_);
    std::optional<result_type> won;
    branches_.any([&](auto& a, auto index) {
      if (static_cast<int>(index()) != winner()) return false;
      won.emplace(std::in_place_index<index()>, a.result());
      return true;
    });
    return std::move(*won);
  }

  static void describe_all(const select_state& s, std::ostream& out) {
    static_cast<const select_awaiter&>(s).branches_.describe(out);
  }

  task_context* task_ = nullptr;
  bool suspended_ = false;
  std::exception_ptr begin_error_;
  select_branches<std::index_sequence_for<Operations...>, Operations...> branches_;
};

/// The awaitable that with_timeout(), with_deadline() and with_stop() return. Movable until it is
/// awaited.
template <class Operation, class End>
class [[nodiscard]] limited_awaiter {
 public:
  limited_awaiter(Operation&& operation, End&& end, const std::source_location& where)
      : select_(where, std::move(operation), std::move(end)) {}

  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  void bind(promise_base& promise, std::coroutine_handle<> h) noexcept { select_.bind(promise, h); }
  bool await_ready() { return select_.await_ready(); }
  bool await_suspend(std::coroutine_handle<> h) { return select_.await_suspend(h); }
  auto await_resume() {
    auto result = select_.await_resume();
    if (result.index() == 1) throw limit_error(limit_error_code<End>, select_.text());
    if constexpr (!std::is_same_v<branch_result<Operation>, std::monostate>) {
      return std::get<0>(std::move(result));
    }
  }
  auto await_tuple() noexcept {
    auto [ec, result] = select_.await_tuple();
    if (!ec && result.index() == 1) ec = make_error_code(limit_error_code<End>);
    using value = branch_result<Operation>;
    if constexpr (std::is_same_v<value, std::monostate>) {
      return result_tuple<void>(ec);
    } else {
      return ec ? failed_with<result_tuple<value>>(ec)
                : result_tuple<value>(ec, std::get<0>(std::move(result)));
    }
  }

 private:
  select_awaiter<Operation, End> select_;
};

/// Specialization for an operation that may be completed in part.
///
/// The limit begins first, so that there is no effect if one of the two cannot begin.
template <class Operation, class End>
  requires partially_completable<Operation>
class [[nodiscard]] limited_awaiter<Operation, End> {
 public:
  limited_awaiter(Operation&& operation, End&& end, const std::source_location& where)
      : select_(where, std::move(end), std::move(operation)) {}

  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  void bind(promise_base& promise, std::coroutine_handle<> h) noexcept { select_.bind(promise, h); }
  bool await_ready() { return select_.await_ready(); }
  bool await_suspend(std::coroutine_handle<> h) { return select_.await_suspend(h); }
  auto await_resume() {
    return select_.finish_partial(make_error_code(limit_error_code<End>)).result();
  }
  result_tuple<branch_result<Operation>> await_tuple() noexcept {
    try {
      return select_.finish_partial(make_error_code(limit_error_code<End>)).tuple();
    } catch (...) {
      return failed_with<result_tuple<branch_result<Operation>>>(
          to_error_code(std::current_exception()));
    }
  }

 private:
  select_awaiter<End, Operation> select_;
};

template <class Operation, class End>
[[nodiscard]] auto limit(Operation&& operation, End&& end, const std::source_location& where) {
  static_assert(
      !is_task<std::remove_cvref_t<Operation>>,
      "with_timeout(), with_deadline() and with_stop() need an operation, not a task: spawn "
      "the task in a task_group and pass group.join()");
  static_assert(
      is_task<std::remove_cvref_t<Operation>> || selectable<std::remove_cvref_t<Operation>>,
      "with_timeout(), with_deadline() and with_stop() need an operation of leat that waits: pass "
      "queue.pop(), leat::sleep_for() or group.join()");
  static_assert(
      !std::is_lvalue_reference_v<Operation>,
      "with_timeout(), with_deadline() and with_stop() take ownership of the operation: write "
      "std::move(operation)");
  return limited_awaiter<Operation, End>(std::move(operation), std::move(end), where);
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
/// Accepts pop(), pop_many(), pop_up_to() and push() of queues, sleep_for(), sleep_until(),
/// wait_for_stop() and task_group::join(). It does not accept push_many(): a sequence may be longer
/// than the capacity, so push_many() could already have added some of its items when another
/// operation wins. To limit a push_many(), use with_timeout(), with_deadline() or with_stop().
///
/// select() owns the operations: you can return the result of select() from a function, or keep it
/// and await it later. The objects that an operation refers to must live until the operation has
/// completed. These are the queue, the group, and the values that are pushed, unless push() copies
/// them.
///
/// Result:        a std::variant of the operations' results, with std::monostate for void.
/// Errors:        the exception of the winner; cancelled; std::bad_alloc, without any effect.
/// Cancellation:  total: if a stop is requested before there is a winner, no operation has an
///                effect.
/// Thread safety: like the operations; other threads may use the same queues.
/// Cost:          for each operation, joining and leaving one wait queue; no allocation. An
///                operation that completes immediately costs no more than without select().
template <class... Operations>
[[nodiscard]] auto select(Operations&&... operations) {
  static_assert((!detail::is_task<std::remove_cvref_t<Operations>> && ...),
                "select() needs operations, not tasks: spawn the task in a task_group and write "
                "group.join()");
  static_assert(((detail::is_task<std::remove_cvref_t<Operations>> ||
                  detail::selectable<std::remove_cvref_t<Operations>>) &&
                 ...),
                "select() needs operations of leat, such as queue.pop() or group.join(): write "
                "leat::sleep_for(limit) for a time limit");
  static_assert((!std::is_lvalue_reference_v<Operations> && ...),
                "select() takes ownership of its operations: write std::move(operation)");
  static_assert((!detail::partially_completable<std::remove_reference_t<Operations>> && ...),
                "select() does not accept push_many, which may add only some of its items: use "
                "with_timeout, with_deadline or with_stop, or push item by item");
  return detail::select_awaiter<Operations...>(detail::first_location(operations...),
                                               std::move(operations)...);
}

/// Limits an operation to a time span, which begins when the result is awaited. If the time runs
/// out, the operation ends and, except for push_many(), has no effect.
///
///     auto item = co_await leat::with_timeout(queue.pop(), 10ms);
///
/// with_timeout() owns the operation, as select() does: you can return its result from a function.
///
/// Accepts the operations of select(), and push_many() of queues. The items that a push_many() has
/// added remain in the queue. push_many() then throws a partial_push_error with the number of these
/// items and the code of the limit or stop that ended it.
///
/// Errors:       deadline_exceeded, with a description of the operation; the exception of the
///               operation; cancelled.
/// Cancellation: total; partial for push_many().
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

/// Like with_timeout(), but the operation ends when a stop is requested through `token`. Use it for
/// each wait of a coroutine of another library: such a coroutine has no owner that could stop it.
///
///     auto item = co_await leat::with_stop(queue.pop(), token);
///
/// Errors: cancelled, with a description of the operation; the exception of the operation.
template <class Operation>
[[nodiscard]] auto with_stop(Operation&& operation, std::stop_token token,
                             const std::source_location& where = std::source_location::current()) {
  return detail::limit(std::forward<Operation>(operation), wait_for_stop(std::move(token), where),
                       where);
}

}  // namespace leat
