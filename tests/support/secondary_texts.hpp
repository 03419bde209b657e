#pragma once

#include <exception>
#include <string>
#include <vector>

#include "leat/sync/coordinator.hpp"

namespace leat_test {

/// What else failed under a coordinator, which is asked for by this and so told of no more.
[[nodiscard]] inline std::vector<std::string> secondary_texts(const leat::coordinator& coord) {
  std::vector<std::string> texts;
  for (const std::exception_ptr& error : coord.secondary_errors()) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      texts.emplace_back(e.what());
    }
  }
  return texts;
}

}  // namespace leat_test
