#pragma once

#include <exception>
#include <string>

namespace leat::detail {

/// What an error says.
[[nodiscard]] inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

}  // namespace leat::detail
