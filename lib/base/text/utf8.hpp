#pragma once

#include <cstddef>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

// True for well-formed UTF-8: no code in more bytes than it needs, no surrogate, none above
// U+10FFFF. (Unicode 15, table 3-7.) The command, which sees public headers only, has its own in
// tools/leat/terminal/text.cpp.
[[nodiscard]] inline bool is_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned char first = byte(i);
    if (first < 0x80) {
      ++i;
      continue;
    }
    if (first < 0xC2 || first > 0xF4) return false;
    const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (text.size() - i < length) return false;
    const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (byte(i + 1) < low || byte(i + 1) > high) return false;
    for (std::size_t k = 2; k < length; ++k) {
      if (byte(i + k) < 0x80 || byte(i + k) > 0xBF) return false;
    }
    i += length;
  }
  return true;
}

}  // namespace LEAT::detail
