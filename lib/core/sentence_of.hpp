#pragma once

#include <string>

#include "leat/core/error.hpp"

namespace leat::detail {

/// What a failure says, without the meaning of its code: for a message that goes on.
[[nodiscard]] inline std::string sentence_of(const failure& e) {
  std::string text = e.what();
  const std::string meaning = ": " + e.code().message();
  if (text.ends_with(meaning)) text.resize(text.size() - meaning.size());
  return text;
}

}  // namespace leat::detail
