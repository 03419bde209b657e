#pragma once

#include <algorithm>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "leat/base/error.hpp"

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

/// What an error says, without the meaning of its code: for a message that goes on, or for another
/// failure with the same code.
[[nodiscard]] inline std::string sentence_of(std::string said, const std::error_code& code) {
  const std::string meaning = ": " + code.message();
  if (said.ends_with(meaning)) said.resize(said.size() - meaning.size());
  return said;
}
[[nodiscard]] inline std::string sentence_of(const std::system_error& e) {
  return sentence_of(e.what(), e.code());
}

/// True for an error whose code, as to_error_code() has it, is in the list.
[[nodiscard]] inline bool is_one_of(const std::exception_ptr& error,
                                    const std::vector<errc>& codes) noexcept {
  const std::error_code ec = to_error_code(error);
  return std::ranges::any_of(codes, [&](errc each) { return ec == each; });
}

}  // namespace leat::detail
