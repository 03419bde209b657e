// Scans any bytes. The scan and the search stay inside the bytes, and find the records that a slow
// parser finds. A reader that resyncs returns the records of the definition. As the payload of a
// record, the bytes are read unchanged.

#include "leat/codec/tfrecord/tfrecord.hpp"

#include <cstdlib>
#include <optional>
#include <vector>

#include "fuzz/in_memory.hpp"
#include "fuzz/tfrecord_mutator.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"

namespace {

using checks = leat::tfrecord_checks;
constexpr std::uint64_t limit = 1 << 16;

bool good_header(leat::byte_view bytes) {
  const auto stored = leat::load_little_endian<std::uint32_t>(bytes.data() + 8);
  return stored == leat::mask_crc32c(leat::crc32c(bytes.first(8)));
}

// Returns true if `bytes` starts with a complete and valid record, and sets `length`.
bool whole_record(leat::byte_view bytes, checks c, std::uint64_t& length) {
  if (bytes.size() < leat::tfrecord_overhead) return false;
  length = leat::load_little_endian<std::uint64_t>(bytes.data());
  if (c != checks::none && !good_header(bytes)) return false;
  if (length > limit || length > bytes.size() - leat::tfrecord_overhead) return false;
  if (c != checks::all) return true;
  const auto payload = bytes.subspan(12, static_cast<std::size_t>(length));
  return leat::load_little_endian<std::uint32_t>(payload.data() + payload.size()) ==
         leat::mask_crc32c(leat::crc32c(payload));
}

void check_scan(leat::byte_view bytes, checks c) {
  std::vector<leat::byte_view> records;
  const auto scan = leat::scan_tfrecords(bytes, records, SIZE_MAX, limit, c);
  const bool one = records.size() == 1 && scan.consumed == bytes.size();
  if (bytes.size() <= limit && leat::is_tfrecord(bytes, c) != one) std::abort();
  std::size_t at = 0;
  std::size_t count = 0;
  std::uint64_t length = 0;
  while (whole_record(bytes.subspan(at), c, length)) {
    if (count == records.size() || records[count].size() != length) std::abort();
    ++count;
    at += static_cast<std::size_t>(length) + leat::tfrecord_overhead;
  }
  if (count != records.size() || at != scan.consumed) std::abort();
  if (count == 0) return;
  std::vector<leat::byte_view> all_but_one;
  const auto full = leat::scan_tfrecords(bytes, all_but_one, count - 1, limit, c);
  if (all_but_one.size() != count - 1 || full.status != leat::tfrecord_scan_status::full)
    std::abort();
}

void check_search(leat::byte_view bytes) {
  std::optional<std::size_t> first;
  for (std::size_t at = 0; !first && at + leat::tfrecord_header_size <= bytes.size(); ++at) {
    const auto length = leat::load_little_endian<std::uint64_t>(bytes.data() + at);
    if (length <= limit && good_header(bytes.subspan(at))) first = at;
  }
  if (leat::find_tfrecord(bytes, limit) != first) std::abort();
}

void check_resync(leat::byte_view bytes) {
  using leat_test::left_out;
  std::vector<left_out> expected_reports;
  const auto expected = leat_test::slow_resync(leat::as_text(bytes), limit, expected_reports);
  std::vector<left_out> reports;
  leat::tfrecord_reader_options options{.max_record_size = limit};
  options.compression = leat::compression::none;
  options.corruption.policy = leat::corruption_policy::resync;
  options.corruption.max_reports = UINT64_MAX;
  options.corruption.on_report = [&reports](const leat::corruption_report& r) {
    reports.push_back({r.offset, r.index, r.skipped});
  };
  const std::size_t wanted = bytes.empty() ? 1 : std::to_integer<std::size_t>(bytes.back());
  options.read.chunk_size = leat_test::piece_size(wanted, bytes.size());
  const auto found =
      leat_test::read_in_memory<leat::tfrecord_reader>(leat::as_text(bytes), options);
  leat_test::require(leat_test::difference(found, expected).empty());
  leat_test::require(reports == expected_reports);
}

void check_round_trip(leat::byte_view payload) {
  std::vector<std::byte> framed;
  leat::append_tfrecord(framed, payload);
  std::vector<leat::byte_view> records;
  leat::scan_tfrecords(framed, records, SIZE_MAX, SIZE_MAX);
  if (records.size() != 1 || leat::as_text(records[0]) != leat::as_text(payload)) std::abort();
  if (!leat::is_tfrecord(framed, checks::all)) std::abort();
}

void check(leat::byte_view bytes) {
  for (const checks c : {checks::all, checks::header_only, checks::none}) check_scan(bytes, c);
  check_search(bytes);
  check_resync(bytes);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return leat_test::mutate_tfrecords(data, size, max_size, seed, 0);
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(data[i]);
  check(bytes);
  check_round_trip(bytes);
  leat_test::mend_tfrecords(bytes);
  check(bytes);
  return 0;
}
