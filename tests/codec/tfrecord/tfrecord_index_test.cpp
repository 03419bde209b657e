#include "leat/codec/tfrecord/tfrecord_index.hpp"

#include <algorithm>
#include <array>

#include "leat/codec/checksum/crc32c.hpp"
#include "support/outcome_of.hpp"
#include "support/records/record_bytes.hpp"
#include "tensor/plain_test.hpp"

namespace tfrecord_index_test {

using sizes = std::vector<std::uint64_t>;

std::uint64_t file_size(const sizes& all) {
  std::uint64_t size = 0;
  for (const std::uint64_t s : all) size += s + leat::tfrecord_overhead;
  return size;
}

leat::tfrecord_index index_of(const sizes& all, std::int64_t modified_ns = 5,
                              std::uint32_t sample = 7) {
  leat::tfrecord_index_builder builder;
  for (const std::uint64_t s : all) builder.add(s);
  CHECK(builder.size() == all.size());
  CHECK(builder.end_offset() == file_size(all));
  return std::move(builder).finish({file_size(all), modified_ns, sample});
}

void require_places(const leat::tfrecord_index& index, const sizes& all) {
  REQUIRE(index.size() == all.size());
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    REQUIRE(index[i].offset == offset);
    REQUIRE(index[i].size == all[i]);
    offset += all[i] + leat::tfrecord_overhead;
  }
}

sizes random_sizes(std::size_t count, std::uint64_t below, std::uint64_t seed) {
  leat::random_engine random(seed);
  sizes all(count);
  for (std::uint64_t& s : all) s = random.uniform_below(below);
  return all;
}

leat_test::outcome decoding(leat::byte_view bytes) {
  return leat_test::outcome_of([&] { static_cast<void>(leat::tfrecord_index::decode(bytes)); });
}

// Recomputes the checksums of a changed index.
void mend(std::vector<std::byte>& bytes) {
  leat::store_little_endian(bytes.data() + 56, leat::crc32c(leat::byte_view(bytes).subspan(64)));
  leat::store_little_endian(bytes.data() + 60, leat::crc32c({bytes.data(), 60}));
}

TEST_CASE("tfrecord_index: returns the offset of every record, for any sizes") {
  for (const std::size_t count : {0U, 1U, 2U, 127U, 128U, 129U, 256U, 1000U}) {
    for (const std::uint64_t below : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1000},
                                      std::uint64_t{1} << 32, std::uint64_t{1} << 52}) {
      const sizes all = random_sizes(count, below, count + below);
      const auto index = index_of(all);
      require_places(index, all);
      REQUIRE(index.payload_size() == file_size(all) - 16 * count);
    }
  }
}

TEST_CASE("tfrecord_index: stores the largest possible offsets early and late") {
  const std::uint64_t huge = INT64_MAX - 16 - 127 * 16;
  for (const std::size_t where : {0U, 1U, 64U, 126U, 127U}) {
    sizes all(128, 0);
    all[where] = huge;
    require_places(index_of(all), all);
  }
}

TEST_CASE("tfrecord_index: refuses a file of more than 2^63 bytes") {
  leat::tfrecord_index_builder builder;
  builder.add(100);
  for (const std::uint64_t size :
       {UINT64_MAX, UINT64_MAX - 16, std::uint64_t{1} << 63, std::uint64_t{INT64_MAX} - 116 - 15}) {
    CHECK_THROWS_AS(builder.add(size), leat::failure);
  }
  CHECK(builder.size() == 1);
  builder.add(std::uint64_t{INT64_MAX} - 116 - 16);
  CHECK(builder.end_offset() == INT64_MAX);
}

TEST_CASE("tfrecord_index: two records of the format's own example") {
  const auto index = index_of({3, 4});
  CHECK(index.size() == 2);
  CHECK(index.payload_size() == 7);
  CHECK(index.fingerprint().size == 39);
}

TEST_CASE("tfrecord_index: memory grows with the variation of the record sizes") {
  constexpr std::size_t count = 100'000;
  CHECK(index_of(sizes(count, 1000)).encode().size() < count / 5);
  CHECK(index_of(random_sizes(count, 900, 1)).encode().size() < 2 * count);
}

TEST_CASE("tfrecord_index: refuses a fingerprint whose size differs from the records") {
  leat::tfrecord_index_builder builder;
  builder.add(3);
  CHECK_FAILS(errc::failed_precondition, "20 bytes, but its records have 19",
              std::move(builder).finish({.size = 20}));
}

TEST_CASE("tfrecord_index: decodes what it encoded") {
  for (const std::size_t count : {0U, 1U, 128U, 1000U}) {
    for (const std::uint64_t below : {1U, 3000U}) {
      const sizes all = random_sizes(count, below, 3);
      const auto index = index_of(all, -8, 0xABCDEF01U);
      const auto bytes = index.encode();
      const auto back = leat::tfrecord_index::decode(bytes);
      REQUIRE(back == index);
      REQUIRE(back.encode() == bytes);
      require_places(back, all);
      REQUIRE(back.fingerprint().modified_ns == -8);
      REQUIRE(back.fingerprint().sample == 0xABCDEF01U);
    }
  }
  CHECK(leat::tfrecord_index::decode(leat::tfrecord_index().encode()).empty());
}

TEST_CASE("tfrecord_index: the bytes are those of the format") {
  const auto bytes = index_of({0, 100, 0}, 0x0102030405060708, 0x11223344).encode();
  std::string hex;
  for (const std::byte b : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    hex += digits[static_cast<unsigned>(b) / 16];
    hex += digits[static_cast<unsigned>(b) % 16];
  }
  CHECK(hex ==
        "894c49580d0a1a0a"    // magic
        "01000000"            // version
        "44332211"            // sample of the data
        "9400000000000000"    // 148 bytes
        "0807060504030201"    // modification time
        "0300000000000000"    // 3 records
        "6400000000000000"    // 100 bytes of payload
        "0100000000000000"    // 1 word
        "3acbddb5"            // checksum of the bytes after the header
        "b9595d1a"            // checksum of the header
        "dfffffffffffffff"    // origin: 33 below 0
        "3100000000000000"    // stride 49
        "0700000000000000"    // differences of 7 bits, from bit 0 on
        "21c0100000000000");  // 33, 0, 67
}

TEST_CASE("tfrecord_index: every truncation and every longer text is refused") {
  auto bytes = index_of(random_sizes(300, 3000, 4)).encode();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const errc expected = size < 8 ? errc::invalid_argument : errc::data_loss;
    REQUIRE(decoding({bytes.data(), size}).code == expected);
  }
  for (int i = 0; i < 30; ++i) {
    bytes.push_back(std::byte{0});
    REQUIRE(decoding(bytes).code == errc::data_loss);
  }
}

TEST_CASE("tfrecord_index: every flipped bit is found") {
  auto bytes = index_of(random_sizes(300, 3000, 5)).encode();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    bytes[bit / 8] ^= mask;
    const errc expected = bit / 8 < 8    ? errc::invalid_argument
                          : bit / 8 < 12 ? errc::unimplemented
                                         : errc::data_loss;
    REQUIRE(decoding(bytes).code == expected);
    bytes[bit / 8] ^= mask;
  }
  CHECK(decoding(bytes).code == errc{});
}

TEST_CASE("tfrecord_index: errors name the reason") {
  CHECK(contains(decoding(leat::as_bytes("0 48\n48 96\n")).text,
                 "file is not an index of a TFRecord file"));
  auto bytes = index_of({3, 4}).encode();
  bytes[8] = std::byte{2};
  CHECK(contains(decoding(bytes).text, "has version 2, but this program reads version 1"));
  bytes[8] = std::byte{1};
  bytes[70] ^= std::byte{1};
  CHECK(contains(decoding(bytes).text, "checksum of the offsets is wrong"));
}

TEST_CASE("tfrecord_index: crafted numbers with valid checksums are refused or consistent") {
  const auto good = index_of(random_sizes(300, 3000, 6)).encode();
  leat::random_engine random(7);
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = good;
    for (std::uint64_t changes = 1 + random.uniform_below(3); changes > 0; --changes) {
      // An 8-byte number of the header or of a block, often replaced by an extreme value.
      const auto at =
          static_cast<std::size_t>(16 + 8 * random.uniform_below((bytes.size() - 16) / 8));
      const std::uint64_t value =
          random.uniform_below(2) == 0 ? random() : random.uniform_below(70) - 35;
      if (at != 56) leat::store_little_endian(bytes.data() + at, value);
    }
    mend(bytes);
    const leat_test::outcome r = decoding(bytes);
    if (r.code != errc{}) {
      REQUIRE(r.code == errc::data_loss);
      ++refused;
      continue;
    }
    const auto index = leat::tfrecord_index::decode(bytes);
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < index.size(); ++i) {
      REQUIRE(index[i].offset == end);
      end += index[i].size + leat::tfrecord_overhead;
    }
    REQUIRE(end == index.fingerprint().size);
  }
  CHECK(refused > 10'000);
}

// ----------------------------------------------------------------------------------------- headers

std::vector<std::byte> file_of(const std::vector<std::string>& records) {
  std::vector<std::byte> file;
  for (const std::string& r : records) leat::append_tfrecord(file, leat::as_bytes(r));
  return file;
}

const std::vector<std::string> sample = {"hello", "", std::string(300, 'x'), "the end"};
const std::array<std::size_t, 5> starts = {0, 21, 37, 353, 376};

TEST_CASE("index_tfrecords: finds the records of a full scan for any pieces of the file") {
  const auto file = file_of(sample);
  REQUIRE(file.size() == starts.back());
  for (std::size_t piece = 12; piece <= file.size(); ++piece) {
    leat::tfrecord_index_builder builder;
    while (builder.end_offset() < file.size()) {
      const auto at = static_cast<std::size_t>(builder.end_offset());
      const leat::byte_view rest = leat::byte_view(file).subspan(at);
      const auto scan =
          leat::index_tfrecords(rest.first(std::min(piece, rest.size())), rest.size(), builder);
      REQUIRE(scan.status == leat::tfrecord_scan_status::need_more);
      REQUIRE(scan.consumed > 0);
      REQUIRE(at + scan.consumed == builder.end_offset());
    }
    REQUIRE(builder.size() == sample.size());
    const auto index = std::move(builder).finish({.size = file.size()});
    for (std::size_t i = 0; i < sample.size(); ++i) {
      REQUIRE(index[i].offset == starts[i]);
      REQUIRE(index[i].size == sample[i].size());
    }
  }
}

TEST_CASE("index_tfrecords: every truncation of the file is found at its record") {
  const auto file = file_of(sample);
  for (std::size_t size = 0; size < file.size(); ++size) {
    leat::tfrecord_index_builder builder;
    const auto scan = leat::index_tfrecords({file.data(), size}, size, builder);
    const auto whole = static_cast<std::size_t>(
        std::upper_bound(starts.begin(), starts.end(), size) - starts.begin() - 1);
    REQUIRE(scan.status == leat::tfrecord_scan_status::need_more);
    REQUIRE(scan.consumed == starts[whole]);
    REQUIRE(builder.size() == whole);
    const std::size_t left = size - scan.consumed;
    if (left > 0) REQUIRE(scan.needed > left);
  }
}

TEST_CASE("index_tfrecords: detects every flipped bit of a header and ignores payloads") {
  auto file = file_of(sample);
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    file[bit / 8] ^= mask;
    leat::tfrecord_index_builder builder;
    const auto scan = leat::index_tfrecords(file, file.size(), builder);
    const auto hit = static_cast<std::size_t>(
        std::upper_bound(starts.begin(), starts.end(), bit / 8) - starts.begin() - 1);
    if (bit / 8 - starts[hit] < leat::tfrecord_header_size) {
      REQUIRE(scan.status == leat::tfrecord_scan_status::bad_length_checksum);
      REQUIRE(scan.consumed == starts[hit]);
      REQUIRE(builder.size() == hit);
    } else {
      REQUIRE(scan.status == leat::tfrecord_scan_status::need_more);
      REQUIRE(builder.size() == sample.size());
    }
    file[bit / 8] ^= mask;
  }
}

TEST_CASE("index_tfrecords: refuses a length beyond the end of the file") {
  for (const std::uint64_t length :
       {std::uint64_t{101}, std::uint64_t{1} << 63, UINT64_MAX - 16, UINT64_MAX - 15, UINT64_MAX}) {
    leat::tfrecord_index_builder builder;
    const std::string header = leat_test::header_of(length);
    const auto scan = leat::index_tfrecords(leat::as_bytes(header), 116, builder);
    CHECK(builder.size() == 0);
    CHECK(scan.consumed == 0);
    CHECK(scan.needed > 116);
    CHECK(scan.length == length);
  }
}

}  // namespace tfrecord_index_test
