#pragma once

#include <algorithm>
#include <exception>
#include <vector>

#include "leat/core/error.hpp"

namespace leat::detail {

/// True for an error whose code, as to_error_code() has it, is in the list.
[[nodiscard]] inline bool is_one_of(const std::exception_ptr& error,
                                    const std::vector<errc>& codes) noexcept {
  const std::error_code ec = to_error_code(error);
  return std::ranges::any_of(codes, [&](errc each) { return ec == each; });
}

}  // namespace leat::detail
