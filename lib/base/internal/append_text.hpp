#pragma once

#include <concepts>
#include <string>
#include <type_traits>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Appends words and numbers to a text. For texts that are created often: a stream costs thousands
/// of instructions before it writes the first word.
template <class... Parts>
void append_text(std::string& text, const Parts&... parts) {
  const auto add = [&text](const auto& part) {
    if constexpr (std::integral<std::remove_cvref_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
  };
  (add(parts), ...);
}

}  // namespace LEAT::detail
