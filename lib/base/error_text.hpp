#pragma once

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "leat/base/error.hpp"

namespace leat::detail {

/// What an error says.
[[nodiscard]] inline std::string error_message(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "exception of an unknown type";
  }
}

/// What an error says, without the meaning of its code: for a message that goes on, or for another
/// failure with the same code.
[[nodiscard]] inline std::string without_code_message(std::string text,
                                                      const std::error_code& code) {
  const std::string meaning = ": " + code.message();
  if (text.ends_with(meaning)) text.resize(text.size() - meaning.size());
  return text;
}
[[nodiscard]] inline std::string without_code_message(const std::system_error& e) {
  return without_code_message(e.what(), e.code());
}

/// True for an error whose code, as to_error_code() has it, is in the list.
[[nodiscard]] inline bool has_any_code(const std::exception_ptr& error,
                                       const std::vector<errc>& codes) noexcept {
  const std::error_code ec = to_error_code(error);
  return std::ranges::any_of(codes, [&](errc each) { return ec == each; });
}

}  // namespace leat::detail
