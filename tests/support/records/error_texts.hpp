#pragma once

#include <exception>
#include <string>
#include <vector>

namespace leat_test {

/// What each of several errors says. Those of a coordinator's secondary_errors() are asked for by
/// that, and so told of no more.
[[nodiscard]] inline std::vector<std::string> error_texts(
    const std::vector<std::exception_ptr>& errors) {
  std::vector<std::string> texts;
  for (const std::exception_ptr& error : errors) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      texts.emplace_back(e.what());
    }
  }
  return texts;
}

}  // namespace leat_test
