#pragma once

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "leat/base/error.hpp"

namespace LEAT::detail {

/// Returns the message of an error.
[[nodiscard]] inline std::string error_message(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "exception of an unknown type";
  }
}

/// Returns the message of an error without the text of its code: for a message that continues, or
/// for another failure with the same code.
[[nodiscard]] inline std::string without_code_message(std::string text,
                                                      const std::error_code& code) {
  const std::string meaning = ": " + code.message();
  if (text.ends_with(meaning)) text.resize(text.size() - meaning.size());
  return text;
}
[[nodiscard]] inline std::string without_code_message(const std::system_error& e) {
  return without_code_message(e.what(), e.code());
}

/// Returns true if the list contains the code of the error, as returned by to_error_code().
[[nodiscard]] inline bool has_any_code(const std::exception_ptr& error,
                                       const std::vector<errc>& codes) noexcept {
  const std::error_code ec = to_error_code(error);
  return std::ranges::any_of(codes, [&](errc each) { return ec == each; });
}

}  // namespace LEAT::detail
