#include "leat/codec/checksum/epoch_fingerprint.hpp"

#include "codec/checksum/murmur3.hpp"
#include "leat/base/permutation.hpp"
#include "tensor/plain_test.hpp"

namespace epoch_fingerprint_test {

using leat::as_bytes;
using leat::epoch_fingerprint;

// Fingerprint of records whose content is their number, in a random order.
epoch_fingerprint of_range(std::uint64_t first, std::uint64_t end, std::uint64_t seed) {
  epoch_fingerprint f;
  const leat::permutation order(end - first, seed);
  for (std::uint64_t i = 0; i < order.size(); ++i) {
    const std::uint64_t key = first + order[i];
    f.add(key, as_bytes("record " + std::to_string(key)));
  }
  return f;
}

TEST_CASE("murmur3: the verification value of SMHasher") {
  // Hashes keys of 0, 1, ... 255 bytes, and then the hashes themselves.
  std::vector<std::byte> key;
  std::vector<std::byte> hashes;
  for (std::uint32_t i = 0; i < 256; ++i) {
    const auto h = leat::detail::murmur3(key, 256 - i);
    std::byte both[16];
    leat::store_little_endian(both, h.low);
    leat::store_little_endian(both + 8, h.high);
    hashes.insert(hashes.end(), both, both + 16);
    key.push_back(static_cast<std::byte>(i));
  }
  CHECK(static_cast<std::uint32_t>(leat::detail::murmur3(hashes).low) == 0x6384BA69);
}

TEST_CASE("epoch_fingerprint: does not depend on the order or the number of readers") {
  const epoch_fingerprint whole = of_range(0, 1000, 1);
  CHECK(whole.count() == 1000);
  CHECK(of_range(0, 1000, 2) == whole);
  for (const std::uint64_t cut : {0U, 1U, 500U, 999U, 1000U}) {
    epoch_fingerprint parts = of_range(cut, 1000, 3);
    parts += of_range(0, cut, 4);
    CHECK(parts == whole);
  }
  CHECK(epoch_fingerprint(whole.count(), whole.high(), whole.low()) == whole);
}

TEST_CASE("epoch_fingerprint: detects missing, repeated, changed and exchanged records") {
  const auto of = [](std::initializer_list<std::pair<std::uint64_t, std::string_view>> records) {
    epoch_fingerprint f;
    for (const auto& [key, bytes] : records) f.add(key, as_bytes(bytes));
    return f;
  };
  const epoch_fingerprint whole = of({{0, "a"}, {1, "b"}, {2, "c"}});
  CHECK(of({{2, "c"}, {0, "a"}, {1, "b"}}) == whole);
  CHECK_FALSE(of({{0, "a"}, {1, "b"}}) == whole);
  CHECK_FALSE(of({{0, "a"}, {1, "b"}, {1, "b"}}) == whole);
  CHECK_FALSE(of({{0, "a"}, {1, "b"}, {2, "c"}, {2, "c"}}) == whole);
  CHECK_FALSE(of({{0, "a"}, {1, "b"}, {2, "C"}}) == whole);
  CHECK_FALSE(of({{1, "a"}, {0, "b"}, {2, "c"}}) == whole);
  CHECK_FALSE(of({{0, "a"}, {1, "b"}, {2, std::string_view("c\0", 2)}}) == whole);
  // Equal records with different keys do not cancel each other.
  CHECK_FALSE(of({{0, "a"}, {1, "a"}}) == of({{0, "a"}, {0, "a"}}));
}

TEST_CASE("epoch_fingerprint: carries from the lower half into the upper") {
  epoch_fingerprint f(1, 7, UINT64_MAX);
  f += epoch_fingerprint(1, 1, 1);
  CHECK(f == epoch_fingerprint(2, 9, 0));
}

TEST_CASE("epoch_fingerprint: gives the same value with every compiler, for numbers and texts") {
  CHECK(to_string(of_range(0, 100, 1)) == "100 records, cde52bd524e66eb5dffc1f0423dc41dd");
  epoch_fingerprint f;
  f.add("a.tfrecord:0", as_bytes("payload"));
  CHECK(to_string(f) == "1 records, 7119a66c03d30cb5913e78876a99e2d0");
  epoch_fingerprint other;
  other.add("b.tfrecord:0", as_bytes("payload"));
  CHECK_FALSE(f == other);
  CHECK(to_string(epoch_fingerprint()) == "0 records, 00000000000000000000000000000000");
}

}  // namespace epoch_fingerprint_test
