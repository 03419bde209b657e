#include "leat/io/reader/tfrecord_reader.hpp"

#include <algorithm>
#include <span>

#include "base/text/hex.hpp"
#include "io/reader/record_reader.hpp"
#include "leat/async/this_task.hpp"
#include "leat/codec/checksum/crc32c.hpp"

namespace leat {
namespace detail {
namespace {

std::string told(const wrong_checksum& wrong) {
  return "expected " + hex(wrong.expected) + ", actual " + hex(wrong.actual);
}

damage fault_of_scan(const tfrecord_scan& scan, const framing_run& run,
                     std::uint64_t max_record_size) {
  const wrong_checksum wrong{scan.expected_crc, scan.actual_crc};
  if (scan.status == tfrecord_scan_status::bad_payload_checksum) {
    return tfrecord_framing::fault_of(scan.needed, wrong);
  }
  damage d;
  if (scan.status == tfrecord_scan_status::too_large) {
    d.reason = errc::resource_exhausted;
    d.what = "a length of " + std::to_string(scan.length) + " bytes is above the limit " +
             "max_record_size of " + std::to_string(max_record_size);
    if (scan.needed > scan.length) d.size = scan.needed;
    return d;
  }
  d.expected_crc = wrong.expected;
  d.actual_crc = wrong.actual;
  d.what = "the checksum of the length is wrong: " + told(wrong);
  if (run.index == 0) {
    d.what += run.inflated ? "; is this file, once inflated, a TFRecord file?"
                           : "; is this a TFRecord file, and not a compressed one?";
  }
  return d;
}

// None where they are the same.
std::optional<wrong_checksum> unless_same(std::uint32_t masked, std::uint32_t actual) {
  const std::uint32_t expected = unmask_crc32c(masked);
  if (expected == actual) return std::nullopt;
  return wrong_checksum{expected, actual};
}

}  // namespace

tfrecord_framing::tfrecord_framing(const options& o, std::string_view path) : options_(o) {
  if (o.max_record_size > 0) return;
  throw failure(errc::invalid_argument, std::string(path) + ": max_record_size must be 1 or more");
}

byte_stream_options tfrecord_framing::stream(const file_status&) const noexcept {
  return {.read = options_.read,
          .compression_type = options_.compression_type,
          .inflate = options_.inflate,
          .detect = &detect_tfrecord_compression,
          .tolerate_truncation = options_.tolerate_truncated_tail};
}

framing_step tfrecord_framing::find(const framing_run& run, std::vector<view>& records) const {
  const tfrecord_scan scan =
      scan_tfrecords(run.bytes, records, SIZE_MAX, options_.max_record_size, options_.checks);
  framing_step step;
  step.consumed = scan.consumed;
  // A header may promise more than 64 bits can count.
  const bool countable = scan.needed > scan.length;
  const std::uint64_t needed = countable ? scan.needed : UINT64_MAX;
  const std::uint64_t there = run.left == unknown_size ? unknown_size : run.left - scan.consumed;
  // No limit helps with a record that is longer than the rest of the file: that is corruption.
  const bool beyond_limit = scan.status == tfrecord_scan_status::too_large;
  const bool beyond_end = there != unknown_size && needed > there;
  if (scan.status != tfrecord_scan_status::need_more && !(beyond_limit && beyond_end)) {
    step.fault = fault_of_scan(scan, run, options_.max_record_size);
    return step;
  }
  if (!beyond_limit) step.needed = scan.needed;
  if (run.left == unknown_size) return step;
  // Seen at once: nothing of what the header promises has to be held.
  if (there == 0 || !beyond_end) return step;
  const bool tolerated = options_.tolerate_truncated_tail;
  const bool believed = options_.corruption.policy != corruption_policy::resync;
  if (tolerated && !beyond_limit && (believed || there < tfrecord_overhead)) {
    step.consumed += there;
    step.left_over = there;
  } else {
    step.fault.emplace();
    step.fault->what = "truncated: " + std::to_string(there) + " of " + std::to_string(needed) +
                       " bytes are there";
    if (countable) step.fault->size = needed;
    step.fault->may_be_tail = tolerated && !beyond_limit;
  }
  return step;
}

// What is not there as a whole is not refuted.
std::optional<wrong_checksum> tfrecord_framing::refutes(range_checksums& seen, byte_view bytes,
                                                        std::uint64_t offset) const {
  const byte_view whole = front(bytes);
  if (options_.checks != tfrecord_checks::all || whole.empty()) return std::nullopt;
  const byte_view payload = whole.subspan(tfrecord_header_size, whole.size() - tfrecord_overhead);
  const auto stored = load_little_endian<std::uint32_t>(payload.data() + payload.size());
  return unless_same(stored, seen.of(payload, offset + tfrecord_header_size));
}

damage tfrecord_framing::fault_of(std::uint64_t size, const wrong_checksum& wrong) {
  damage d;
  d.what = "the checksum of the payload of " + std::to_string(size - tfrecord_overhead) +
           " bytes is wrong: " + told(wrong);
  d.expected_crc = wrong.expected;
  d.actual_crc = wrong.actual;
  d.size = size;
  return d;
}

// Empty where it is not whole.
byte_view tfrecord_framing::front(byte_view bytes) noexcept {
  if (bytes.size() < tfrecord_overhead) return {};
  const auto length = load_little_endian<std::uint64_t>(bytes.data());
  if (length > bytes.size() - tfrecord_overhead) return {};
  return bytes.first(static_cast<std::size_t>(length) + tfrecord_overhead);
}

bool tfrecord_framing::confirms(byte_view bytes) noexcept {
  return find_tfrecord(bytes.first(confirming), UINT64_MAX).has_value();
}

bool tfrecord_framing::promises_too_much(byte_view bytes) const noexcept {
  return load_little_endian<std::uint64_t>(bytes.data()) > options_.corruption.max_held;
}

// Of a header at the end of the file nothing is left once it is a part of the tail.
std::optional<std::uint64_t> tfrecord_framing::promise(byte_view bytes,
                                                       std::uint64_t left) const noexcept {
  if (options_.checks != tfrecord_checks::all || left == unknown_size) return {};
  if (bytes.size() < tfrecord_header_size) return {};
  const std::uint64_t size = load_little_endian<std::uint64_t>(bytes.data()) + tfrecord_overhead;
  const std::uint64_t held =
      std::max({bytes.size(), options_.read.chunk_size, 4 * range_checksums::block});
  if (size <= held || size > left) return {};
  return size;
}

task<std::optional<wrong_checksum>> tfrecord_framing::look_at(byte_stream& stream,
                                                              range_checksums& seen,
                                                              std::uint64_t offset,
                                                              std::uint64_t size,
                                                              std::source_location where) {
  constexpr std::size_t block = range_checksums::block;
  constexpr std::uint64_t piece = 512 * block;
  const std::uint64_t begin = offset + tfrecord_header_size;
  const std::uint64_t end = offset + size - tfrecord_footer_size;
  const std::uint64_t first = range_checksums::boundary(begin);
  const std::uint64_t last = end / block * block;
  seen.begin(begin);
  const std::uint64_t unknown = last - std::min(last, seen.known_to());
  std::vector<std::byte> room(
      static_cast<std::size_t>(std::clamp<std::uint64_t>(unknown, 3 * block, piece)));
  // A file that has become shorter says so when it is read on.
  while (seen.known_to() < last) {
    const std::uint64_t most = std::min<std::uint64_t>(room.size(), last - seen.known_to());
    const auto part = std::span(room).first(static_cast<std::size_t>(most));
    const std::size_t got = co_await stream.read_beside(seen.known_to(), part, where);
    if (got < part.size()) co_return std::nullopt;
    seen.add(part);
    co_await this_task::yield();
  }
  const auto head = std::span(room).first(static_cast<std::size_t>(first - begin));
  const auto tail =
      std::span(room).subspan(block, static_cast<std::size_t>(end - last) + tfrecord_footer_size);
  std::size_t got = co_await stream.read_beside(begin, head, where);
  got += co_await stream.read_beside(last, tail, where);
  if (got < head.size() + tail.size()) co_return std::nullopt;
  const auto payload = byte_view(tail).first(tail.size() - tfrecord_footer_size);
  const auto stored = load_little_endian<std::uint32_t>(payload.data() + payload.size());
  co_return unless_same(stored, seen.of(head, payload, end - begin));
}

std::string tfrecord_framing::place(std::uint64_t index) {
  return "record " + std::to_string(index);
}

std::string tfrecord_framing::key(const record_position& p) {
  return std::string(p.path) + ":" + std::to_string(p.offset);
}

}  // namespace detail

template class basic_record_reader<detail::tfrecord_framing>;

}  // namespace leat
