#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace leat::detail {

/// A checksum as messages show it: 0x1c291ca3.
inline std::string hex(std::uint32_t value) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

}  // namespace leat::detail
