#pragma once

#include <exception>
#include <system_error>
#include <tuple>
#include <type_traits>

#include "leat/base/error.hpp"

namespace leat::detail {

/// The result of an operation without exceptions: its error code and, unless void, its value of
/// type R.
template <class R>
using result_tuple = std::conditional_t<std::is_void_v<R>, std::tuple<std::error_code>,
                                        std::tuple<std::error_code, R>>;

/// True for the awaitable of as_tuple().
template <class Awaitable>
inline constexpr bool is_as_tuple = false;

/// Returns the result of a failed operation without a value.
template <class Tuple>
[[nodiscard]] Tuple failed_with(std::error_code error) noexcept {
  Tuple failed;
  std::get<0>(failed) = error;
  return failed;
}

/// Returns the failure `error` or, if there is none, the value of `get()` or the code of the
/// exception that it throws.
template <class R, class Get>
[[nodiscard]] result_tuple<R> tuple_of(std::error_code error, Get&& get) noexcept {
  using tuple = result_tuple<R>;
  if (error) return failed_with<tuple>(error);
  try {
    if constexpr (std::is_void_v<R>) {
      get();
      return {};
    } else {
      return {std::error_code(), get()};
    }
  } catch (...) {
    return failed_with<tuple>(to_error_code(std::current_exception()));
  }
}

}  // namespace leat::detail
