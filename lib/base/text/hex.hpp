#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// A checksum as messages show it: 0x1c291ca3.
inline std::string hex(std::uint32_t value) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

}  // namespace LEAT::detail
