#include "leat/io/reader/tfrecord_reader.hpp"

#include <algorithm>
#include <span>

#include "base/text/hex.hpp"
#include "io/reader/record_reader_definitions.hpp"
#include "leat/async/internal/yield_turn.hpp"
#include "leat/codec/checksum/crc32c.hpp"

namespace LEAT {
namespace detail {
namespace {

std::string to_text(const checksum_mismatch& wrong) {
  return "expected " + hex(wrong.expected) + ", actual " + hex(wrong.actual);
}

record_corruption make_scan_corruption(const tfrecord_scan& scan, const framing_input& input,
                                       std::uint64_t max_record_size) {
  const checksum_mismatch wrong{scan.expected_crc, scan.actual_crc};
  if (scan.status == tfrecord_scan_status::bad_payload_checksum) {
    return tfrecord_framing::make_corruption(scan.needed, wrong);
  }
  record_corruption d;
  if (scan.status == tfrecord_scan_status::too_large) {
    d.reason = errc::resource_exhausted;
    d.what = "length of " + std::to_string(scan.length) + " bytes is above the limit " +
             "max_record_size of " + std::to_string(max_record_size);
    if (scan.needed > scan.length) d.size = scan.needed;
    return d;
  }
  d.expected_crc = wrong.expected;
  d.actual_crc = wrong.actual;
  d.what = "checksum of the length is wrong: " + to_text(wrong);
  if (input.index == 0) {
    d.what += input.decompressed ? "; the decompressed data may not be a TFRecord file"
                                 : "; the file may be compressed, or not a TFRecord file";
  }
  return d;
}

// Returns an empty value if they are equal.
std::optional<checksum_mismatch> compare_checksums(std::uint32_t masked, std::uint32_t actual) {
  const std::uint32_t expected = unmask_crc32c(masked);
  if (expected == actual) return std::nullopt;
  return checksum_mismatch{expected, actual};
}

}  // namespace

tfrecord_framing::tfrecord_framing(const options& o, std::string_view path) : options_(o) {
  if (o.max_record_size > 0) return;
  throw failure(errc::invalid_argument,
                std::string(path) + ": max_record_size is 0, must be 1 or more");
}

decompressed_stream_options tfrecord_framing::stream(const file_status&) const noexcept {
  return {.read = options_.read,
          .compression = options_.compression,
          .decompression = options_.decompression,
          .detect = &detect_tfrecord_compression,
          .tolerate_truncation = options_.tolerate_truncated_tail};
}

framing_result tfrecord_framing::find(const framing_input& input,
                                      std::vector<view>& records) const {
  const tfrecord_scan scan =
      scan_tfrecords(input.bytes, records, SIZE_MAX, options_.max_record_size, options_.checks);
  framing_result result;
  result.consumed = scan.consumed;
  // A header may declare more than 64 bits can count.
  const bool countable = scan.needed > scan.length;
  const std::uint64_t needed = countable ? scan.needed : UINT64_MAX;
  const std::uint64_t there =
      input.left == unknown_size ? unknown_size : input.left - scan.consumed;
  // A record longer than the rest of the file is corrupt with any limit.
  const bool beyond_limit = scan.status == tfrecord_scan_status::too_large;
  const bool beyond_end = there != unknown_size && needed > there;
  if (scan.status != tfrecord_scan_status::need_more && !(beyond_limit && beyond_end)) {
    result.fault = make_scan_corruption(scan, input, options_.max_record_size);
    return result;
  }
  if (!beyond_limit) result.needed = scan.needed;
  if (input.left == unknown_size) return result;
  // Detected at once, so that nothing of the declared size has to be kept.
  if (there == 0 || !beyond_end) return result;
  const bool tolerated = options_.tolerate_truncated_tail;
  const bool believed = options_.corruption.policy != corruption_policy::resync;
  if (tolerated && !beyond_limit && (believed || there < tfrecord_overhead)) {
    result.consumed += there;
    result.left_over = there;
  } else {
    result.fault.emplace();
    result.fault->what =
        "truncated after " + std::to_string(there) + " of " + std::to_string(needed) + " bytes";
    if (countable) result.fault->size = needed;
    result.fault->may_be_tail = tolerated && !beyond_limit;
  }
  return result;
}

// An incomplete record cannot be refuted.
std::optional<checksum_mismatch> tfrecord_framing::contradicts(range_checksums& checksums,
                                                               byte_view bytes,
                                                               std::uint64_t offset) const {
  const byte_view whole = leading_record(bytes);
  if (options_.checks != tfrecord_checks::all || whole.empty()) return std::nullopt;
  const byte_view payload = whole.subspan(tfrecord_header_size, whole.size() - tfrecord_overhead);
  const auto stored = load_little_endian<std::uint32_t>(payload.data() + payload.size());
  return compare_checksums(stored, checksums.of(payload, offset + tfrecord_header_size));
}

record_corruption tfrecord_framing::make_corruption(std::uint64_t size,
                                                    const checksum_mismatch& wrong) {
  record_corruption d;
  d.what = "checksum of the payload of " + std::to_string(size - tfrecord_overhead) +
           " bytes is wrong: " + to_text(wrong);
  d.expected_crc = wrong.expected;
  d.actual_crc = wrong.actual;
  d.size = size;
  return d;
}

// Returns an empty value if the record is incomplete.
byte_view tfrecord_framing::leading_record(byte_view bytes) noexcept {
  if (bytes.size() < tfrecord_overhead) return {};
  const auto length = load_little_endian<std::uint64_t>(bytes.data());
  if (length > bytes.size() - tfrecord_overhead) return {};
  return bytes.first(static_cast<std::size_t>(length) + tfrecord_overhead);
}

bool tfrecord_framing::starts_record(byte_view bytes) noexcept {
  return find_tfrecord(bytes.first(record_start_size), UINT64_MAX).has_value();
}

bool tfrecord_framing::exceeds_limit(byte_view bytes) const noexcept {
  return load_little_endian<std::uint64_t>(bytes.data()) > options_.corruption.max_held;
}

// A header at the end of the file is consumed completely once it belongs to the tail.
std::optional<std::uint64_t> tfrecord_framing::declared_size(byte_view bytes,
                                                             std::uint64_t left) const noexcept {
  if (options_.checks != tfrecord_checks::all || left == unknown_size) return {};
  if (bytes.size() < tfrecord_header_size) return {};
  const std::uint64_t size = load_little_endian<std::uint64_t>(bytes.data()) + tfrecord_overhead;
  const std::uint64_t held =
      std::max({bytes.size(), options_.read.chunk_size, 4 * range_checksums::block});
  if (size <= held || size > left) return {};
  return size;
}

task<std::optional<checksum_mismatch>> tfrecord_framing::verify_out_of_band(
    decompressed_stream& stream, range_checksums& checksums, std::uint64_t offset,
    std::uint64_t size, std::source_location where) {
  constexpr std::size_t block = range_checksums::block;
  constexpr std::uint64_t piece = 512 * block;
  const std::uint64_t begin = offset + tfrecord_header_size;
  const std::uint64_t end = offset + size - tfrecord_footer_size;
  const std::uint64_t first = range_checksums::boundary(begin);
  const std::uint64_t last = end / block * block;
  checksums.begin(begin);
  const std::uint64_t unknown = last - std::min(last, checksums.known_to());
  // Memory for the unknown blocks, and afterwards for the bytes around the blocks: less than one
  // block before them, and less than two after them, with the stored checksum.
  std::vector<std::byte> room(
      static_cast<std::size_t>(std::clamp<std::uint64_t>(unknown, 3 * block, piece)));
  // A file that has become shorter is reported by the next read.
  while (checksums.known_to() < last) {
    const std::uint64_t most = std::min<std::uint64_t>(room.size(), last - checksums.known_to());
    const auto part = std::span(room).first(static_cast<std::size_t>(most));
    const std::size_t got = co_await stream.read_out_of_band(checksums.known_to(), part, where);
    if (got < part.size()) co_return std::nullopt;
    checksums.add(part);
    co_await yield_turn();
  }
  const auto head = std::span(room).first(static_cast<std::size_t>(first - begin));
  const auto tail =
      std::span(room).subspan(block, static_cast<std::size_t>(end - last) + tfrecord_footer_size);
  std::size_t got = co_await stream.read_out_of_band(begin, head, where);
  got += co_await stream.read_out_of_band(last, tail, where);
  if (got < head.size() + tail.size()) co_return std::nullopt;
  const auto payload = byte_view(tail).first(tail.size() - tfrecord_footer_size);
  const auto stored = load_little_endian<std::uint32_t>(payload.data() + payload.size());
  co_return compare_checksums(stored, checksums.of(head, payload, end - begin));
}

std::string tfrecord_framing::position_text(std::uint64_t index) {
  return "record " + std::to_string(index);
}

std::string tfrecord_framing::key(const record_position& p) {
  return std::string(p.path) + ":" + std::to_string(p.offset);
}

}  // namespace detail

template class basic_record_reader<detail::tfrecord_framing>;

}  // namespace LEAT
