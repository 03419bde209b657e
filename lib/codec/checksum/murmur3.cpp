#include "codec/checksum/murmur3.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace LEAT::detail {
namespace {

constexpr std::uint64_t c1 = 0x87C37B91114253D5;
constexpr std::uint64_t c2 = 0x4CF5AD432745937F;

std::uint64_t scramble_low(std::uint64_t k) noexcept { return std::rotl(k * c1, 31) * c2; }
std::uint64_t scramble_high(std::uint64_t k) noexcept { return std::rotl(k * c2, 33) * c1; }

std::uint64_t finish(std::uint64_t k) noexcept {
  k = (k ^ (k >> 33)) * 0xFF51AFD7ED558CCD;
  k = (k ^ (k >> 33)) * 0xC4CEB9FE1A85EC53;
  return k ^ (k >> 33);
}

}  // namespace

hash128 murmur3(byte_view bytes, std::uint32_t seed) noexcept {
  constexpr std::size_t block = 16;
  const std::uint64_t size = bytes.size();
  std::uint64_t low = seed;
  std::uint64_t high = seed;
  for (; bytes.size() >= block; bytes = bytes.subspan(block)) {
    low ^= scramble_low(load_little_endian<std::uint64_t>(bytes.data()));
    low = (std::rotl(low, 27) + high) * 5 + 0x52DCE729;
    high ^= scramble_high(load_little_endian<std::uint64_t>(bytes.data() + 8));
    high = (std::rotl(high, 31) + low) * 5 + 0x38495AB5;
  }
  // Missing bytes are 0, and a block of zeros changes nothing.
  std::array<std::byte, block> rest{};
  if (!bytes.empty()) std::memcpy(rest.data(), bytes.data(), bytes.size());
  low ^= scramble_low(load_little_endian<std::uint64_t>(rest.data()));
  high ^= scramble_high(load_little_endian<std::uint64_t>(rest.data() + 8));

  low ^= size;
  high ^= size;
  low += high;
  high += low;
  low = finish(low);
  high = finish(high);
  low += high;
  high += low;
  return {low, high};
}

}  // namespace LEAT::detail
