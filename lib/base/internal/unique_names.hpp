#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Returns a unique name for each of several objects: NAME, and NAME#2 and so on for later ones of
/// the same name.
class unique_names {
 public:
  [[nodiscard]] std::string of(const std::string& name) {
    std::string own = name;
    for (std::uint64_t n = 2; !used_.insert(own).second; ++n) own = name + "#" + std::to_string(n);
    return own;
  }

 private:
  std::set<std::string> used_;
};

}  // namespace LEAT::detail
