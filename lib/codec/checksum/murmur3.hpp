#pragma once

#include <cstdint>

#include "leat/base/bytes.hpp"

namespace LEAT::detail {

/// A number of 128 bits.
struct hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const hash128&, const hash128&) = default;
};

/// MurmurHash3_x64_128. Not for data that an adversary may choose.
///
/// Cost: some 10 ns and 0.2 ns a byte.
/// Source: Austin Appleby, SMHasher, MurmurHash3.cpp; in the public domain.
[[nodiscard]] hash128 murmur3(byte_view bytes, std::uint32_t seed = 0) noexcept;

}  // namespace LEAT::detail
