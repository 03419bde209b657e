#include "leat/codec/tfrecord/tfrecord.hpp"

#include <algorithm>
#include <memory>

#include <sys/mman.h>

#include "leat/codec/checksum/crc32c.hpp"
#include "support/hex.hpp"
#include "support/records/record_bytes.hpp"
#include "tensor/plain_test.hpp"

namespace tfrecord_test {

using leat_test::framed;
using leat_test::from_hex;
using status = leat::tfrecord_scan_status;

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

// A record header with this length and a valid checksum, without the payload.
std::vector<std::byte> header_only(std::uint64_t length) {
  const std::string header = leat_test::header_of(length);
  const leat::byte_view bytes = leat::as_bytes(header);
  return {bytes.begin(), bytes.end()};
}

// Returns the offsets of the records of `sample` in their file, and the size of the file.
std::vector<std::size_t> starts_of_sample() {
  std::vector<std::size_t> starts = {0};
  for (const std::string& r : sample) {
    starts.push_back(starts.back() + r.size() + leat::tfrecord_overhead);
  }
  return starts;
}

// Scans in pieces, as a reader does, and moves the rest of a record to the next piece.
scanned scan_in_pieces(const std::vector<std::byte>& file, std::size_t first, std::size_t piece) {
  scanned all;
  std::vector<std::byte> window;
  std::size_t size = first;
  for (std::size_t at = 0; at < file.size(); at += size, size = piece) {
    size = std::min(size, file.size() - at);
    window.insert(window.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                  file.begin() + static_cast<std::ptrdiff_t>(at + size));
    scanned part = scan(window);
    all.scan = part.scan;
    for (auto& r : part.records) all.records.push_back(std::move(r));
    window.erase(window.begin(), window.begin() + static_cast<std::ptrdiff_t>(part.scan.consumed));
    if (part.scan.status != status::need_more) break;
  }
  CHECK(window.empty());
  return all;
}

TEST_CASE("tfrecord: reads the records that it wrote") {
  const auto file = file_of(sample);
  const auto got = scan(file);
  CHECK(got.records == sample);
  CHECK(got.scan.status == status::need_more);
  CHECK(got.scan.consumed == file.size());
}

TEST_CASE("tfrecord: the bytes are those of the format") {
  const auto file = file_of({""});
  REQUIRE(file.size() == 16);
  CHECK(leat::load_little_endian<std::uint32_t>(file.data() + 12) == 0xA282EAD8U);
}

TEST_CASE("tfrecord: writes the bytes of TensorFlow") {
  CHECK(framed({"abc"}) == from_hex("0300000000000000b099490e6162636e57f121"));
  CHECK(framed({""}) == from_hex("000000000000000029039807d8ea82a2"));
  CHECK(framed({"abc", "defg"}) == from_hex("0300000000000000b099490e6162636e57f121"
                                            "0400000000000000424552046465666727071ba1"));
  CHECK(framed({"Record 0 of file 0"}) ==
        from_hex("1200000000000000241f64255265636f72642030206f662066696c6520306c978ce2"));
}

TEST_CASE("tfrecord: detects the corruption that TensorFlow detects") {
  const auto scanned_hex = [](std::string_view hex) {
    return scan(leat::as_bytes(from_hex(hex))).scan;
  };
  for (const char* hex :
       {"0300000000006400b099490e666f6f618abefe", "0300000000000000b099ad0e666f6f618abefe"}) {
    CHECK(scanned_hex(hex).status == status::bad_length_checksum);
  }
  const auto payload = scanned_hex("0300000000000000b099490e666f6f618abe08");
  CHECK(payload.status == status::bad_payload_checksum);
  CHECK(payload.actual_crc == 0xCFC4AE1DU);
  CHECK(payload.expected_crc != payload.actual_crc);
  CHECK(payload.length == 3);
  CHECK(payload.needed == 19);
  CHECK(payload.consumed == 0);
}

TEST_CASE("tfrecord: a scan stops after as many records as asked for") {
  const auto file = file_of(sample);
  std::vector<leat::byte_view> views;
  const auto s = leat::scan_tfrecords(file, views, 2, 1 << 20);
  CHECK(s.status == status::full);
  CHECK(views.size() == 2);
  CHECK(s.consumed == 5 + 16 + 16);
}

TEST_CASE("tfrecord: a truncated file has its complete records and the size that is needed") {
  const auto file = file_of(sample);
  for (std::size_t size = 0; size < file.size(); ++size) {
    const auto got = scan({file.data(), size});
    REQUIRE(got.scan.status == status::need_more);
    REQUIRE(got.scan.consumed <= size);
    const std::size_t whole = got.records.size();
    REQUIRE(whole < sample.size());
    REQUIRE(got.scan.consumed == starts_of_sample()[whole]);
    const std::size_t left = size - got.scan.consumed;
    const bool header = left >= leat::tfrecord_header_size;
    REQUIRE(got.scan.needed == (header ? sample[whole].size() + 16 : 12));
    REQUIRE(got.scan.needed > left);
    for (std::size_t i = 0; i < got.records.size(); ++i) REQUIRE(got.records[i] == sample[i]);
  }
}

TEST_CASE("tfrecord: every flipped bit is found, in its record") {
  const auto file = file_of(sample);
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    auto damaged = file;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto got = scan(damaged);
    const auto starts = starts_of_sample();
    const std::size_t hit = static_cast<std::size_t>(
        std::upper_bound(starts.begin(), starts.end(), bit / 8) - starts.begin() - 1);
    REQUIRE(got.scan.status == (bit / 8 - starts[hit] < leat::tfrecord_header_size
                                    ? status::bad_length_checksum
                                    : status::bad_payload_checksum));
    REQUIRE(got.scan.consumed == starts[hit]);
    REQUIRE(got.scan.expected_crc != got.scan.actual_crc);
    REQUIRE(got.records.size() == hit);
    for (std::size_t i = 0; i < got.records.size(); ++i) REQUIRE(got.records[i] == sample[i]);
  }
}

TEST_CASE("tfrecord: without checks a damaged payload passes") {
  auto file = file_of({"hello"});
  file[14] ^= std::byte{1};
  CHECK(scan(file).scan.status == status::bad_payload_checksum);
  CHECK(scan(file, leat::tfrecord_checks::header_only).records.size() == 1);
  CHECK(scan(file, leat::tfrecord_checks::none).records.size() == 1);
}

TEST_CASE("tfrecord: refuses a length above the limit before any use") {
  for (const std::uint64_t length :
       {std::uint64_t{(1 << 20) + 1}, std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 15}) {
    const auto got = scan(header_only(length));
    CHECK(got.scan.status == status::too_large);
    CHECK(got.scan.length == length);
  }
}

TEST_CASE("tfrecord: does not accept zeros as a record") {
  const std::vector<std::byte> zeros(64);
  const auto got = scan(zeros);
  CHECK(got.scan.status == status::bad_length_checksum);
  CHECK(got.scan.actual_crc ==
        leat::unmask_crc32c(leat::mask_crc32c(leat::crc32c({zeros.data(), 8}))));
}

TEST_CASE("tfrecord: does not follow a crafted length without checks") {
  for (const std::uint64_t length : {std::uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 15}) {
    for (const auto checks : {leat::tfrecord_checks::none, leat::tfrecord_checks::header_only}) {
      const auto got = scan(header_only(length), checks, UINT64_MAX);
      CHECK(got.records.empty());
      CHECK(got.scan.consumed == 0);
      CHECK((got.scan.status == status::too_large || got.scan.status == status::need_more));
      CHECK(got.scan.needed > 12);
    }
  }
}

TEST_CASE("tfrecord: every way to cut a file gives the same records") {
  const auto file = file_of(sample);
  for (std::size_t first = 1; first <= file.size(); ++first) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{11}, std::size_t{12},
                                    std::size_t{13}, std::size_t{100}, file.size()}) {
      REQUIRE(scan_in_pieces(file, first, piece).records == sample);
    }
  }
}

TEST_CASE("tfrecord: records of every size up to 400 bytes come back") {
  leat::random_engine random(5);
  std::vector<std::string> records(401);
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) records[i] += static_cast<char>(random());
  }
  for (const auto checks : {leat::tfrecord_checks::all, leat::tfrecord_checks::header_only,
                            leat::tfrecord_checks::none}) {
    CHECK(scan(file_of(records), checks).records == records);
  }
}

TEST_CASE("tfrecord: a record of more than 4 GiB has the right checksum") {
  // Pages that are only read stay the zero page of the kernel, if possible its huge zero page. The
  // test therefore needs no memory and little time.
  const std::uint64_t length = (std::uint64_t{1} << 32) + 100;
  const std::size_t size = length + leat::tfrecord_overhead;
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    WARN("skipped: no address space of 4 GiB");
    return;
  }
  const auto unmap = [](void* m) { ::munmap(m, (std::size_t{1} << 32) + 116); };
  const std::unique_ptr<void, decltype(unmap)> owner(memory, unmap);
  static_cast<void>(::madvise(memory, size, MADV_HUGEPAGE));
  auto* const bytes = static_cast<std::byte*>(memory);
  const leat::byte_view payload(bytes + leat::tfrecord_header_size, length);
  const auto header = leat::tfrecord_header(payload);
  std::copy(header.begin(), header.end(), bytes);
  // Computes the checksum in pieces, because an error of one large call could affect the footer and
  // the scan equally.
  std::uint32_t crc = 0;
  constexpr std::size_t piece = std::size_t{256} << 20;
  for (std::uint64_t at = 0; at < length; at += piece) {
    crc = leat::extend_crc32c(crc, payload.subspan(at, std::min<std::size_t>(piece, length - at)));
  }
  leat::store_little_endian(bytes + leat::tfrecord_header_size + length, leat::mask_crc32c(crc));
  std::vector<leat::byte_view> views;
  const auto s = leat::scan_tfrecords({bytes, size}, views, SIZE_MAX, UINT64_MAX);
  CHECK(s.status == status::need_more);
  CHECK(s.consumed == size);
  REQUIRE(views.size() == 1);
  CHECK(views[0].size() == length);
}

TEST_CASE("is_tfrecord: accepts one complete record only") {
  using checks = leat::tfrecord_checks;
  for (const std::string& record : sample) {
    auto frame = file_of({record});
    for (const auto c : {checks::all, checks::header_only, checks::none}) {
      CHECK(leat::is_tfrecord(frame, c));
      for (std::size_t size = 0; size < frame.size(); ++size) {
        REQUIRE_FALSE(leat::is_tfrecord({frame.data(), size}, c));
      }
    }
    for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
      const auto mask = static_cast<std::byte>(1U << (bit % 8));
      frame[bit / 8] ^= mask;
      REQUIRE_FALSE(leat::is_tfrecord(frame, checks::all));
      REQUIRE(leat::is_tfrecord(frame, checks::header_only) == (bit / 8 >= 12));
      REQUIRE(leat::is_tfrecord(frame, checks::none) == (bit / 8 >= 8));
      frame[bit / 8] ^= mask;
    }
    frame.push_back(std::byte{0});
    CHECK_FALSE(leat::is_tfrecord(frame, checks::all));
  }
}

TEST_CASE("find_tfrecord: finds the next record from every place in a file") {
  const auto file = file_of(sample);
  const auto starts = starts_of_sample();
  for (std::size_t from = 0; from <= file.size(); ++from) {
    const auto next = std::lower_bound(starts.begin(), starts.end() - 1, from);
    const auto found = leat::find_tfrecord(leat::byte_view(file).subspan(from), 1 << 20);
    REQUIRE(found.has_value() == (next != starts.end() - 1));
    if (found) REQUIRE(from + *found == *next);
  }
}

TEST_CASE("find_tfrecord: skips noise and lengths above the limit") {
  auto bytes = header_only(1000);
  leat::random_engine random(6);
  for (int i = 0; i < 5000; ++i) bytes.push_back(static_cast<std::byte>(random()));
  bytes.insert(bytes.end(), 64, std::byte{0});
  const std::size_t good = bytes.size();
  leat::append_tfrecord(bytes, leat::as_bytes("good"));
  CHECK(leat::find_tfrecord(bytes, 999) == good);
  CHECK(leat::find_tfrecord(bytes, 1000) == std::size_t{0});
}

TEST_CASE("find_tfrecord: does not judge a truncated header") {
  const auto header = header_only(7);
  for (std::size_t size = 0; size < header.size(); ++size) {
    CHECK_FALSE(leat::find_tfrecord({header.data(), size}, 1 << 20).has_value());
  }
  CHECK(leat::find_tfrecord(header, 1 << 20) == std::size_t{0});
}

}  // namespace tfrecord_test
