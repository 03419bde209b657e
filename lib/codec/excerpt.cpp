#include "codec/excerpt.hpp"

#include <cstdio>

namespace LEAT::detail {

std::string excerpt(std::string_view bytes) {
  constexpr std::size_t limit = 32;
  std::string shown = "'";
  for (const char c : bytes.substr(0, limit)) {
    if (c >= ' ' && c <= '~') {
      shown += c;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", static_cast<unsigned char>(c));
      shown += escaped;
    }
  }
  shown += bytes.size() > limit ? "'..." : "'";
  return shown;
}

}  // namespace LEAT::detail
