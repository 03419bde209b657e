#pragma once

#include <exception>
#include <string>
#include <vector>

namespace leat_test {

/// Returns the messages of several errors. An error from a coordinator's secondary_errors() counts
/// as retrieved, so the coordinator does not report it again.
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
