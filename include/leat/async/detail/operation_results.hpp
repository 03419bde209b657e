#pragma once

#include <exception>
#include <system_error>
#include <type_traits>

#include "leat/async/operation_result.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

/// True for the awaitable of as_tuple().
template <class Awaitable>
inline constexpr bool is_as_tuple = false;

/// Returns the result of a failed operation without a value.
template <class Result>
[[nodiscard]] Result failed_with(std::error_code error) noexcept {
  Result failed;
  failed.error = to_asio_error(error);
  return failed;
}

/// Returns the failure `error` or, if there is none, the value of `get()` or the code of the
/// exception that it throws.
template <class R, class Get>
[[nodiscard]] operation_result<R> result_of_call(std::error_code error, Get&& get) noexcept {
  using result = operation_result<R>;
  if (error) return failed_with<result>(error);
  try {
    if constexpr (std::is_void_v<R>) {
      get();
      return {};
    } else {
      return {std::error_code(), get()};
    }
  } catch (...) {
    return failed_with<result>(to_error_code(std::current_exception()));
  }
}

}  // namespace LEAT::detail
