#pragma once

#include <coroutine>
#include <exception>
#include <source_location>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/detail/result_tuple.hpp"
#include "leat/async/detail/select_awaiter.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/wait_for_stop.hpp"
#include "leat/base/error.hpp"

namespace leat::detail {

// The error code with which a limit, which is a sleep or a stop, ends an operation.
template <class End>
inline constexpr errc limit_error_code = errc::deadline_exceeded;
template <>
inline constexpr errc limit_error_code<stop_wait> = errc::cancelled;

/// The awaitable that with_timeout(), with_deadline() and with_stop() return. Movable until it is
/// awaited.
template <class Operation, class End>
class [[nodiscard]] limited_awaiter {
  static constexpr bool has_no_result = std::is_same_v<branch_result<Operation>, std::monostate>;
  using tuple_type =
      result_tuple<std::conditional_t<has_no_result, void, branch_result<Operation>>>;

 public:
  limited_awaiter(Operation&& operation, End&& end, const std::source_location& where)
      : select_(where, std::move(operation), std::move(end)) {}

  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  void bind(promise_base& promise, std::coroutine_handle<> h,
            const std::source_location& where) noexcept {
    select_.bind(promise, h, where);
  }
  bool await_ready() { return select_.await_ready(); }
  bool await_suspend(std::coroutine_handle<> h) { return select_.await_suspend(h); }
  auto await_resume() {
    [[maybe_unused]] auto result = select_.resume_limited(limit_error_code<End>);
    if constexpr (!has_no_result) return std::get<0>(std::move(result));
  }
  tuple_type await_tuple() noexcept {
    auto [ec, result] = select_.await_tuple();
    if (!ec && result.index() == 1) ec = make_error_code(limit_error_code<End>);
    if constexpr (has_no_result) {
      return tuple_type(ec);
    } else {
      return ec ? failed_with<tuple_type>(ec) : tuple_type(ec, std::get<0>(std::move(result)));
    }
  }

 private:
  select_awaiter<Operation, End> select_;
};

/// Specialization for an operation that may be completed in part, and for an irrevocable one.
///
/// The limit begins first, so that there is no effect if one of the two cannot begin.
template <class Operation, class End>
  requires partially_completable<Operation>
class [[nodiscard]] limited_awaiter<Operation, End> {
  static constexpr bool has_no_result = std::is_same_v<branch_result<Operation>, std::monostate>;
  using tuple_type =
      result_tuple<std::conditional_t<has_no_result, void, branch_result<Operation>>>;

 public:
  limited_awaiter(Operation&& operation, End&& end, const std::source_location& where)
      : select_(where, std::move(end), std::move(operation)) {}

  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  void bind(promise_base& promise, std::coroutine_handle<> h,
            const std::source_location& where) noexcept {
    select_.bind(promise, h, where);
  }
  /// Called before await_ready() if await_tuple() will return the result.
  void omit_message() noexcept { needs_message_ = false; }
  bool await_ready() {
    if (needs_message_) select_.keep_message();
    return select_.await_ready();
  }
  bool await_suspend(std::coroutine_handle<> h) { return select_.await_suspend(h); }
  auto await_resume() {
    auto& branch = select_.finish_partial(make_error_code(limit_error_code<End>));
    if constexpr (has_no_result) {
      branch.result();
    } else {
      return branch.result();
    }
  }
  tuple_type await_tuple() noexcept {
    try {
      return select_.finish_partial(make_error_code(limit_error_code<End>)).tuple();
    } catch (...) {
      return failed_with<tuple_type>(to_error_code(std::current_exception()));
    }
  }

 private:
  bool needs_message_ = true;
  select_awaiter<End, Operation> select_;
};

}  // namespace leat::detail
