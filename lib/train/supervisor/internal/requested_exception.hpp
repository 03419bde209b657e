#pragma once

#include <exception>

#include "leat/coordination/coordinator.hpp"

namespace LEAT::detail {

/// Returns the error that the coordinator was stopped with, or null.
[[nodiscard]] inline std::exception_ptr requested_exception(const coordinator& coord) noexcept {
  try {
    coord.raise_requested_exception();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace LEAT::detail
