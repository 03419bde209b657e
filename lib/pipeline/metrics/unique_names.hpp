#pragma once

#include <cstdint>
#include <set>
#include <string>

namespace leat::detail {

/// Gives each thing a name that no other one has: NAME, and to those that come later NAME#2 and so
/// on.
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

}  // namespace leat::detail
