#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT::sim {

/// Returns "/a/b" for "./a//b": an absolute path without redundant parts.
inline std::string canonical(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") result.append("/").append(part);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return result.empty() ? "/" : result;
}

inline std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace LEAT::sim
