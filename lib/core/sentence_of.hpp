#pragma once

#include <string>
#include <system_error>

namespace leat::detail {

/// What an error says, without the meaning of its code: for a message that goes on, or for another
/// failure with the same code.
[[nodiscard]] inline std::string sentence_of(const std::system_error& e) {
  std::string sentence = e.what();
  const std::string meaning = ": " + e.code().message();
  if (sentence.ends_with(meaning)) sentence.resize(sentence.size() - meaning.size());
  return sentence;
}

}  // namespace leat::detail
