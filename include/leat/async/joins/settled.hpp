#pragma once

#include <exception>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

/// The end of a task: its result or its exception. See when_all_settled().
///
/// Thread safety: thread-compatible.
template <class T>
class [[nodiscard]] settled {
 public:
  /// The result of the task; std::monostate for void.
  using value_type = detail::joint_result<T>;

  /// Creates the end of a task that has not run: it has no value and no exception.
  settled() = default;
  /// Creates the end of a task that has returned `value`.
  explicit settled(value_type value) : value_(std::move(value)) {}
  /// Creates the end of a task that has thrown `error`.
  explicit settled(std::exception_ptr error) noexcept : error_(std::move(error)) {}

  /// Returns true if the task has returned.
  [[nodiscard]] bool has_value() const noexcept { return value_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  /// Returns the result. Throws the exception of the task if it has none.
  [[nodiscard]] value_type& value() & {
    if (!value_ && error_) std::rethrow_exception(error_);
    return value_.value();
  }
  [[nodiscard]] value_type&& value() && { return std::move(value()); }

  /// Returns the exception of the task, or null if it has returned.
  [[nodiscard]] const std::exception_ptr& exception() const noexcept { return error_; }
  /// Returns the code of the exception, or success.
  [[nodiscard]] std::error_code code() const noexcept {
    return error_ ? to_error_code(error_) : std::error_code();
  }

 private:
  std::optional<value_type> value_;
  std::exception_ptr error_;
};

namespace detail {

/// Returns the end of `t` instead of its exception.
template <class T>
task<settled<T>> settle(task<T> t) {
  static_assert(!std::is_reference_v<T>,
                "when_all_settled() and when_any_success() need tasks without a reference result: "
                "return a pointer");
  std::exception_ptr error;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(t);
      co_return settled<T>(std::monostate());
    } else {
      co_return settled<T>(co_await std::move(t));
    }
  } catch (...) {
    error = std::current_exception();
  }
  co_return settled<T>(std::move(error));
}

}  // namespace detail
}  // namespace LEAT
