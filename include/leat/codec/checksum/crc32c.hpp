#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// Returns the CRC-32C (Castagnoli) checksum of `bytes`; 0 if `bytes` is empty.
///
/// The reflected polynomial is 0x82F63B78. The initial and the final value are inverted, as in RFC
/// 3720.
///
/// Thread safety: thread-compatible.
/// Cost: for 1 KiB or more, about 1/20 ns per byte with PCLMULQDQ and less with VPCLMULQDQ.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept;

/// Returns the checksum of a text that consists of a first part with the checksum `prefix`,
/// followed by `bytes`.
[[nodiscard]] std::uint32_t extend_crc32c(std::uint32_t prefix,
                                          std::span<const std::byte> bytes) noexcept;

/// Returns the form in which a checksum is stored next to its data. A plain checksum would be weak
/// for data that itself contains checksums.
///
/// Reference: TFRecord, LevelDB's log format.
[[nodiscard]] constexpr std::uint32_t mask_crc32c(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

/// Returns the checksum from which mask_crc32c() made `masked`.
[[nodiscard]] constexpr std::uint32_t unmask_crc32c(std::uint32_t masked) noexcept {
  const std::uint32_t rotated = masked - 0xA282EAD8U;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace LEAT
