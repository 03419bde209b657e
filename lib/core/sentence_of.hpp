#pragma once

#include <string>
#include <system_error>

namespace leat::detail {

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

}  // namespace leat::detail
