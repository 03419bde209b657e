#include "leat/io/reader/detail/range_checksums.hpp"

#include "leat/codec/checksum/crc32c.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "tensor/plain_test.hpp"

namespace range_checksums_test {

using leat::byte_view;
using leat::detail::range_checksums;

std::vector<std::byte> arbitrary_bytes(std::size_t size) {
  leat::random_engine random(7);
  std::vector<std::byte> bytes(size);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

TEST_CASE("range_checksums: equal the checksum of any range, in any order") {
  const std::vector<std::byte> text = arbitrary_bytes(9000);
  leat::random_engine random(8);
  for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{1} << 40 | 77}) {
    range_checksums some;
    std::size_t from = 0;
    for (int i = 0; i < 5000; ++i) {
      from = i % 50 == 0 ? random() % text.size() : from + random() % 40;
      if (from >= text.size()) from = 0;
      const byte_view range = byte_view(text).subspan(from, random() % (text.size() - from + 1));
      REQUIRE(some.of(range, base + from) == leat::crc32c(range));
    }
  }
}

TEST_CASE("range_checksums: match for long ranges") {
  const std::vector<std::byte> text = arbitrary_bytes((std::size_t{5} << 20) + 3);
  range_checksums some;
  for (const std::size_t from : {0U, 1U, 255U, 256U, 257U, 5000U}) {
    const byte_view range = byte_view(text).subspan(from);
    REQUIRE(some.of(range, from) == leat::crc32c(range));
  }
  CHECK(some.summed() < text.size() + 6 * 2 * range_checksums::block);
}

TEST_CASE("range_checksums: match for a range that is added in blocks") {
  const std::vector<std::byte> text = arbitrary_bytes(9000);
  const byte_view all = text;
  constexpr std::size_t block = range_checksums::block;
  leat::random_engine random(9);
  range_checksums some;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t from = random() % 8000;
    const std::size_t size = 2 * block + random() % (9000 - 8000 - 2 * block + 1);
    const auto first = static_cast<std::size_t>(range_checksums::boundary(from));
    const std::size_t last = (from + size) / block * block;
    some.begin(from);
    REQUIRE(some.known_to() >= first);
    while (some.known_to() < last) {
      some.add(all.subspan(static_cast<std::size_t>(some.known_to()), block));
    }
    const byte_view head = all.subspan(from, first - from);
    const byte_view tail = all.subspan(last, from + size - last);
    REQUIRE(some.of(head, tail, size) == leat::crc32c(all.subspan(from, size)));
  }
}

// A header at each 12th byte, with payloads that overlap.
std::vector<std::byte> look_alikes(std::size_t count, std::size_t length) {
  const auto header = leat::tfrecord_header(std::vector<std::byte>(length));
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < count; ++i) bytes.insert(bytes.end(), header.begin(), header.end());
  return bytes;
}

TEST_CASE("range_checksums: the cost of similar headers is proportional to the file") {
  const leat::detail::tfrecord_framing framing({}, "f");
  for (const std::size_t count : {5000U, 20000U}) {
    const std::size_t length = count * 8;
    const std::vector<std::byte> bytes = look_alikes(count, length);
    range_checksums seen;
    std::size_t refuted = 0;
    for (std::size_t at = 0; at < bytes.size(); at += leat::tfrecord_header_size) {
      if (framing.contradicts(seen, byte_view(bytes).subspan(at), at)) ++refuted;
    }
    CHECK(refuted + 2 >= count / 3);
    CHECK(seen.summed() <= bytes.size() + refuted * 2 * range_checksums::block);
  }
}

TEST_CASE("range_checksums: refuses a complete record with a wrong payload") {
  const leat::detail::tfrecord_framing framing({}, "f");
  std::vector<std::byte> bytes;
  leat::append_tfrecord(bytes, arbitrary_bytes(1000));
  const byte_view all = bytes;
  range_checksums seen;
  CHECK_FALSE(framing.contradicts(seen, all, 3));
  CHECK_FALSE(framing.contradicts(seen, all.first(all.size() - 1), 3));
  bytes[500] ^= std::byte{1};
  range_checksums of_another;
  CHECK(framing.contradicts(of_another, all, 3));
  CHECK_FALSE(framing.contradicts(of_another, all.first(all.size() - 1), 3));
  const leat::detail::tfrecord_framing trusting({.checks = leat::tfrecord_checks::header_only},
                                                "f");
  CHECK_FALSE(trusting.contradicts(of_another, all, 3));
}

}  // namespace range_checksums_test
