#include "leat/codec/tfrecord.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/codec/crc32c.hpp"

namespace {

using end = leat::tfrecord_scan_end;

std::vector<std::byte> file_of(const std::vector<std::string>& records) {
  std::vector<std::byte> file;
  for (const std::string& r : records) leat::append_tfrecord(file, leat::as_bytes(r));
  return file;
}

struct scanned {
  leat::tfrecord_scan scan;
  std::vector<std::string> records;
};

scanned scan(leat::byte_view bytes, leat::tfrecord_checks checks = leat::tfrecord_checks::all,
             std::uint64_t limit = 1 << 20) {
  std::vector<leat::byte_view> views;
  scanned result;
  result.scan = leat::scan_tfrecords(bytes, views, SIZE_MAX, limit, checks);
  for (const auto v : views) result.records.emplace_back(leat::as_text(v));
  return result;
}

const std::vector<std::string> sample = {"hello", "", std::string(300, 'x'), "the end"};

// A record of this length, without its payload; the header's checksum is right.
std::vector<std::byte> header_only(std::uint64_t length) {
  std::vector<std::byte> bytes(12);
  leat::store_little_endian(bytes.data(), length);
  leat::store_little_endian(bytes.data() + 8, leat::mask_crc32c(leat::crc32c({bytes.data(), 8})));
  return bytes;
}

}  // namespace

TEST_CASE("tfrecord: records come back as they were written", "[codec]") {
  const auto file = file_of(sample);
  const auto got = scan(file);
  CHECK(got.records == sample);
  CHECK(got.scan.end == end::need_more);
  CHECK(got.scan.consumed == file.size());
}

TEST_CASE("tfrecord: the bytes are those of the format", "[codec]") {
  const auto file = file_of({""});
  REQUIRE(file.size() == 16);
  CHECK(leat::load_little_endian<std::uint32_t>(file.data() + 12) == 0xA282EAD8U);
}

TEST_CASE("tfrecord: a scan stops after as many records as asked for", "[codec]") {
  const auto file = file_of(sample);
  std::vector<leat::byte_view> views;
  const auto s = leat::scan_tfrecords(file, views, 2, 1 << 20);
  CHECK(s.end == end::full);
  CHECK(views.size() == 2);
  CHECK(s.consumed == 5 + 16 + 16);
}

TEST_CASE("tfrecord: every truncation gives the whole records before it and what is needed",
          "[codec]") {
  const auto file = file_of(sample);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto got = scan({file.data(), size});
    REQUIRE(got.scan.end == end::need_more);
    REQUIRE(got.scan.consumed <= size);
    REQUIRE(got.scan.needed > size - got.scan.consumed);
    REQUIRE(got.records.size() < sample.size());
    for (std::size_t i = 0; i < got.records.size(); ++i) REQUIRE(got.records[i] == sample[i]);
  }
}

TEST_CASE("tfrecord: every flipped bit is found, in its record", "[codec]") {
  const auto file = file_of(sample);
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    auto damaged = file;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto got = scan(damaged);
    REQUIRE(
        (got.scan.end == end::bad_length_checksum || got.scan.end == end::bad_payload_checksum));
    REQUIRE(got.scan.consumed <= bit / 8);
    for (std::size_t i = 0; i < got.records.size(); ++i) REQUIRE(got.records[i] == sample[i]);
  }
}

TEST_CASE("tfrecord: without checks a damaged payload passes", "[codec]") {
  auto file = file_of({"hello"});
  file[14] ^= std::byte{1};
  CHECK(scan(file).scan.end == end::bad_payload_checksum);
  CHECK(scan(file, leat::tfrecord_checks::header_only).records.size() == 1);
  CHECK(scan(file, leat::tfrecord_checks::none).records.size() == 1);
}

TEST_CASE("tfrecord: a length above the limit is refused before anything is done with it",
          "[codec]") {
  for (const std::uint64_t length :
       {std::uint64_t{(1 << 20) + 1}, std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 15}) {
    const auto got = scan(header_only(length));
    CHECK(got.scan.end == end::too_large);
    CHECK(got.scan.length == length);
  }
}

TEST_CASE("tfrecord: a run of zeros is no record", "[codec]") {
  const std::vector<std::byte> zeros(64);
  const auto got = scan(zeros);
  CHECK(got.scan.end == end::bad_length_checksum);
  CHECK(got.scan.actual_crc ==
        leat::unmask_crc32c(leat::mask_crc32c(leat::crc32c({zeros.data(), 8}))));
}
