#pragma once

#include <coroutine>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/operation_results.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/detail/select_awaiter.hpp"
#include "leat/async/detail/select_branch_set.hpp"
#include "leat/async/detail/select_state.hpp"

namespace LEAT::detail {

template <class Operation>
inline constexpr bool has_no_result = std::is_same_v<branch_result<Operation>, std::monostate>;

/// The result of an operation as a tuple.
template <class Operation>
using limited_tuple =
    operation_result<std::conditional_t<has_no_result<Operation>, void, branch_result<Operation>>>;

/// The awaitable that with_timeout(), with_deadline() and with_stop() return. Movable until it is
/// awaited.
///
/// It is a select of one argument: itself. A limit of a limit has several ends, the outermost one
/// first.
template <class Operation, class... Ends>
class [[nodiscard]] limited_awaiter {
  static constexpr bool begins_with_ends = select_argument<limited_awaiter>::is_last;

 public:
  static constexpr bool result_matters = requires { requires Operation::result_matters; };

  template <class End>
  limited_awaiter(Operation&& operation, End&& end, const std::source_location& where)
      : limited_awaiter(unstarted_branches(std::move(operation)), std::move(end), where) {}
  template <class End, class... Inner>
  limited_awaiter(limited_awaiter<Operation, Inner...>&& inner, End&& end)
      : limited_awaiter(inner.release(), std::move(end), inner.where()) {}

  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  void bind(promise_base& promise, std::coroutine_handle<> h,
            const std::source_location& where) noexcept {
    select_.bind(promise, h, where);
  }
  /// Called before await_ready() if await_tuple() will return the result.
  void omit_message() noexcept { select_.omit_message(); }
  bool await_ready() { return select_.await_ready(); }
  bool await_suspend(std::coroutine_handle<> h) { return select_.await_suspend(h); }
  auto await_resume() {
    if constexpr (has_no_result<Operation>) {
      select_.resume_operation();
    } else {
      return select_.resume_operation();
    }
  }
  limited_tuple<Operation> await_tuple() noexcept {
    return select_.template operation_tuple<limited_tuple<Operation>>();
  }

  /// The source location of the innermost limit, for a select.
  [[nodiscard]] const std::source_location& where() const noexcept { return select_.where(); }
  /// Moves the branches out, for a select or another limit.
  [[nodiscard]] auto release() noexcept { return select_.release(); }

 private:
  template <class... From, class End>
  limited_awaiter(std::tuple<From&&...> inner, End&& end, const std::source_location& where)
      : select_(select_state::limit_kind, where, with_end(std::move(inner), std::move(end))) {}

  // The branches of `inner` and one more limit around them, in the order of select_argument.
  template <class First, class... Inner, class End>
  static auto with_end(std::tuple<First&&, Inner&&...> inner, End&& end) noexcept {
    std::tuple<End&&> outermost(std::move(end));
    if constexpr (begins_with_ends) {
      return std::tuple_cat(std::move(outermost), std::move(inner));
    } else {
      return std::apply(
          [&](First&& operation, Inner&&... ends) {
            return std::tuple<First&&, End&&, Inner&&...>(std::move(operation), std::move(end),
                                                          std::move(ends)...);
          },
          std::move(inner));
    }
  }

  select_awaiter<limited_awaiter> select_;
};

}  // namespace LEAT::detail
