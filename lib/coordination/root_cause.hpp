#pragma once

#include <exception>

#include "leat/queue/partial_push_error.hpp"

namespace LEAT::detail {

// Returns the error that a queue failed with if `error` is a partial_push_error because of that
// failure. Otherwise returns `error`.
[[nodiscard]] inline std::exception_ptr root_cause(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const partial_push_error& e) {
    if (e.cause()) return root_cause(e.cause());
  } catch (...) {  // it already is
  }
  return error;
}

}  // namespace LEAT::detail
