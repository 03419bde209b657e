#include "leat/codec/checksum/crc32c.hpp"

#include <algorithm>
#include <array>

#include "codec/checksum/raw_crc32c.hpp"

namespace LEAT {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() noexcept {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
    table[byte] = crc;
  }
  return table;
}

constexpr auto table = make_table();

}  // namespace

std::uint32_t detail::raw_crc32c_portable(std::uint32_t state, const std::byte* data,
                                          std::size_t size) noexcept {
  for (; size > 0; --size, ++data) {
    state = (state >> 8) ^ table[(state ^ static_cast<std::uint32_t>(*data)) & 0xFFU];
  }
  return state;
}

#if defined(__x86_64__)
std::uint32_t detail::raw_crc32c_pieces(std::uint32_t state, const std::byte* data,
                                        std::size_t size) noexcept {
  while (size > 0) {
    const std::size_t now = std::min(size, piece);
    state = raw_crc32c_piece(state, data, now);
    data += now;
    size -= now;
  }
  return state;
}
#endif

std::uint32_t extend_crc32c(std::uint32_t prefix, std::span<const std::byte> bytes) noexcept {
  const std::uint32_t state = ~prefix;
#if defined(__x86_64__)
  if (detail::has_sse42()) {
    return ~detail::raw_crc32c_sse42(state, bytes.data(), bytes.size());
  }
#endif
  return ~detail::raw_crc32c_portable(state, bytes.data(), bytes.size());
}

std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept { return extend_crc32c(0, bytes); }

}  // namespace LEAT
