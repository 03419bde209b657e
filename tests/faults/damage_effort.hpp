#pragma once

// The size of the damaged files and the number of damaged places. `./dev campaign damage` sets
// LEAT_DAMAGE_SIZE=1048576 and prints both.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "support/effort.hpp"

namespace leat_test::damaged {

inline bool in_campaign() { return std::getenv("LEAT_DAMAGE_SIZE") != nullptr; }

/// Size of a large file in bytes.
inline std::size_t sample_size() {
  return static_cast<std::size_t>(from_environment("LEAT_DAMAGE_SIZE", 64 * 1024));
}

/// Returns a stride over the places that limits the bytes that a test reads in total. The limit is
/// 64 MiB, 4 MiB in a slow build, and LEAT_DAMAGE_GIB (default: 64) in a campaign. The stride is
/// odd, so consecutive places flip different bits of a byte.
inline std::size_t stride_for(std::size_t places, std::size_t bytes_a_place) {
  const std::uint64_t usual = std::uint64_t{1} << (slow_build ? 22 : 26);
  const std::uint64_t gib = from_environment("LEAT_DAMAGE_GIB", 64);
  const std::uint64_t most = in_campaign() ? gib << 30U : usual;
  return static_cast<std::size_t>(std::uint64_t{places} * bytes_a_place / most) | 1U;
}

/// Prints the damaged places if a campaign runs.
inline void tell(std::string_view what, std::size_t size, std::size_t bits, std::size_t cuts) {
  if (!in_campaign()) return;
  std::printf("%.*s, %zu bytes: one of %zu bits, one of %zu cuts\n", static_cast<int>(what.size()),
              what.data(), size, bits, cuts);
  std::fflush(stdout);
}

}  // namespace leat_test::damaged
