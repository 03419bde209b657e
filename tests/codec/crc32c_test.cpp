#include "leat/codec/crc32c.hpp"

#include <array>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/codec/bytes.hpp"
#include "leat/core/random.hpp"

namespace {

// Bit by bit, from the definition.
std::uint32_t slow_crc32c(leat::byte_view bytes) {
  std::uint32_t crc = ~0U;
  for (const std::byte b : bytes) {
    crc ^= static_cast<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

}  // namespace

TEST_CASE("crc32c: the vectors of RFC 3720", "[codec]") {
  std::array<std::byte, 32> bytes{};
  CHECK(leat::crc32c(bytes) == 0x8A9136AAU);
  bytes.fill(std::byte{0xFF});
  CHECK(leat::crc32c(bytes) == 0x62A8AB43U);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  CHECK(leat::crc32c(bytes) == 0x46DD794EU);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(31 - i);
  CHECK(leat::crc32c(bytes) == 0x113FDB5CU);
  CHECK(leat::crc32c({}) == 0);
}

TEST_CASE("crc32c: equals the definition for every length and alignment", "[codec]") {
  leat::random_engine random(1);
  std::vector<std::byte> bytes(700);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  for (std::size_t length = 0; length <= 600; ++length) {
    const std::size_t start = length % 17;
    const leat::byte_view view(bytes.data() + start, length);
    REQUIRE(leat::crc32c(view) == slow_crc32c(view));
  }
}

TEST_CASE("crc32c: can be continued from a prefix", "[codec]") {
  const leat::byte_view all = leat::as_bytes("the quick brown fox jumps over the lazy dog");
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    CHECK(leat::extend_crc32c(leat::crc32c(all.first(cut)), all.subspan(cut)) == leat::crc32c(all));
  }
}

TEST_CASE("crc32c: masking can be undone, twice too", "[codec]") {
  const std::uint32_t crc = leat::crc32c(leat::as_bytes("foo"));
  CHECK(leat::mask_crc32c(crc) != crc);
  CHECK(leat::unmask_crc32c(leat::mask_crc32c(crc)) == crc);
  CHECK(leat::unmask_crc32c(leat::unmask_crc32c(leat::mask_crc32c(leat::mask_crc32c(crc)))) == crc);
  CHECK(leat::mask_crc32c(0) == 0xA282EAD8U);
}
