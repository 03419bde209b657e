#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "leat/base/random.hpp"

namespace oracle_test {

/// The base of generators of random messages.
class generator_base {
 public:
  explicit generator_base(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_.uniform_below(n); }

  /// Returns UTF-8 text of fewer than `parts` parts, sometimes followed by many x.
  std::string text(std::uint64_t parts) {
    static const char* const all_parts[] = {"a", "loss/", "\xC3\xA4", "\xF0\x9F\x98\x80", "_1"};
    std::string all;
    for (auto n = below(parts); n > 0; --n) all += all_parts[below(5)];
    if (below(50) == 0) all.append(below(400), 'x');
    return all;
  }

  /// Cuts off the end, or changes or inserts bytes.
  void damage(std::string& to) {
    if (to.empty()) return;
    const std::size_t at = below(to.size());
    switch (below(4)) {
      case 0: to.resize(at); break;
      case 1: to[at] = static_cast<char>(below(256)); break;
      case 2: to[at] = static_cast<char>(to[at] ^ (1 << below(8))); break;
      case 3: to.insert(at, below(12), static_cast<char>(below(2) == 0 ? 0x80 : 0xFF)); break;
    }
  }

 protected:
  leat::random_engine random_;
};

}  // namespace oracle_test
