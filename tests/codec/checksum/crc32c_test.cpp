#include "leat/codec/checksum/crc32c.hpp"

#include <array>

#include "codec/checksum/raw_crc32c.hpp"
#include "tensor/plain_test.hpp"

namespace crc32c_test {

// Computes the checksum bit by bit from the definition.
std::uint32_t slow_crc32c(leat::byte_view bytes) {
  std::uint32_t crc = ~0U;
  for (const std::byte b : bytes) {
    crc ^= static_cast<std::uint32_t>(b);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
  leat::random_engine random(seed);
  std::vector<std::byte> bytes(size);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

TEST_CASE("crc32c: matches the test vectors of RFC 3720") {
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

TEST_CASE("crc32c: equals the definition for every length and alignment") {
  const std::vector<std::byte> bytes = random_bytes(700, 1);
  for (std::size_t length = 0; length <= 600; ++length) {
    for (std::size_t start = 0; start < 16; ++start) {
      const leat::byte_view view(bytes.data() + start, length);
      if (leat::crc32c(view) != slow_crc32c(view)) FAIL("size " << length << " at " << start);
    }
  }
}

TEST_CASE("crc32c: gives the same result without CRC instructions") {
  const std::vector<std::byte> bytes = random_bytes(80, 2);
  for (std::size_t length = 0; length <= 64; ++length) {
    for (std::size_t start = 0; start < 8; ++start) {
      const leat::byte_view view(bytes.data() + start, length);
      const std::uint32_t portable = ~leat::detail::raw_crc32c_portable(~0U, view.data(), length);
      REQUIRE(leat::crc32c(view) == portable);
    }
  }
}

TEST_CASE("crc32c: matches the values of known words") {
  CHECK(leat::crc32c(leat::as_bytes("123456789")) == 0xE3069283U);
  CHECK(leat::mask_crc32c(0xE3069283U) == 0xC78AB0E5U);
  CHECK(leat::crc32c({}) == 0);
  CHECK(leat::mask_crc32c(0) == 0xA282EAD8U);
  std::array<std::byte, 4> stored{};
  leat::store_little_endian(stored.data(), leat::mask_crc32c(0));
  CHECK(leat::as_text(stored) == "\xD8\xEA\x82\xA2");
  CHECK(leat::crc32c(leat::as_bytes("a")) == 0xC1D04330U);
  CHECK(leat::crc32c(leat::as_bytes("foo")) == 0xCFC4AE1DU);
  CHECK(leat::crc32c(leat::as_bytes("abc")) == 0x364B3FB7U);
}

TEST_CASE("crc32c: matches the values of numbers in a record header") {
  const std::pair<std::uint64_t, std::uint32_t> known[] = {
      {0, 0x8C28B28AU}, {1, 0xC514CFADU}, {3, 0x576C35E3U}, {4, 0xAD3530E7U}};
  for (const auto& [number, crc] : known) {
    std::array<std::byte, 8> bytes{};
    leat::store_little_endian(bytes.data(), number);
    CHECK(leat::crc32c(bytes) == crc);
  }
}

TEST_CASE("crc32c: continues from a prefix") {
  const std::uint32_t hello = leat::crc32c(leat::as_bytes("hello "));
  CHECK(leat::extend_crc32c(hello, leat::as_bytes("world")) == 0xC99465AAU);
  CHECK(leat::crc32c(leat::as_bytes("hello world")) == 0xC99465AAU);
  const leat::byte_view all = leat::as_bytes("the quick brown fox jumps over the lazy dog");
  for (std::size_t cut = 0; cut <= all.size(); ++cut) {
    CHECK(leat::extend_crc32c(leat::crc32c(all.first(cut)), all.subspan(cut)) == leat::crc32c(all));
  }
}

TEST_CASE("crc32c: a prefix of any checksum can be continued by any length") {
  // Short continuations combine the state with the first words in separate code.
  const std::vector<std::byte> bytes = random_bytes(500, 4);
  for (std::size_t cut = 0; cut <= 40; ++cut) {
    for (std::size_t length = 0; length <= 250; ++length) {
      const leat::byte_view all(bytes.data(), cut + length);
      const std::uint32_t prefix = leat::crc32c(all.first(cut));
      if (leat::extend_crc32c(prefix, all.subspan(cut)) != slow_crc32c(all)) {
        FAIL(cut << " bytes, then " << length);
      }
    }
  }
}

TEST_CASE("crc32c: unmasking reverses masking, also twice") {
  const std::uint32_t crc = leat::crc32c(leat::as_bytes("foo"));
  CHECK(leat::mask_crc32c(crc) != crc);
  CHECK(leat::mask_crc32c(leat::mask_crc32c(crc)) != crc);
  CHECK(leat::unmask_crc32c(leat::mask_crc32c(crc)) == crc);
  CHECK(leat::unmask_crc32c(leat::unmask_crc32c(leat::mask_crc32c(leat::mask_crc32c(crc)))) == crc);
}

}  // namespace crc32c_test
