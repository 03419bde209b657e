#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "leat/base/bytes.hpp"

namespace leat {

/// The frame around a record in a TFRecord file, all numbers little-endian:
///
///     offset  size  field
///     0       8     length n of the payload
///     8       4     masked CRC-32C of the 8 length bytes
///     12      n     payload
///     12+n    4     masked CRC-32C of the payload
///
/// TensorFlow: core/lib/io/record_writer.
inline constexpr std::size_t tfrecord_header_size = 12;
inline constexpr std::size_t tfrecord_footer_size = 4;
inline constexpr std::size_t tfrecord_overhead = tfrecord_header_size + tfrecord_footer_size;

/// The checksums that a scan verifies. Without the header's, a corrupt length is not detected.
enum class tfrecord_checks { all, header_only, none };

/// How a scan of a run of bytes ended.
enum class tfrecord_scan_status {
  need_more,             ///< the next record is cut off; see scan::needed
  full,                  ///< as many records as asked for
  bad_length_checksum,   ///< the length is corrupt: where the next record begins is not known
  bad_payload_checksum,  ///< the payload is corrupt; the next record begins at consumed + needed
  too_large,             ///< the length is above the limit
};

/// What a scan found besides the records.
struct tfrecord_scan {
  tfrecord_scan_status status = tfrecord_scan_status::need_more;
  std::size_t consumed = 0;  ///< bytes of the whole, good records
  /// need_more: bytes of the next record with its frame, as far as known (at least
  /// tfrecord_header_size); a record that failed: its size with its frame, where that is known.
  std::uint64_t needed = tfrecord_header_size;
  std::uint64_t length = 0;        ///< payload size in the header of the record that failed
  std::uint32_t expected_crc = 0;  ///< stored checksum, unmasked
  std::uint32_t actual_crc = 0;    ///< checksum of what is there
};

/// Finds whole records at the beginning of `bytes`, which begin at a record, and appends views of
/// their payloads to `records`, at most `max_records` of them.
///
/// Never reads beyond `bytes` and never allocates by a length that it read; `records` grows by what
/// was found. Thread safety: thread-compatible. Cost: a few ns a record, plus the checksum.
tfrecord_scan scan_tfrecords(byte_view bytes, std::vector<byte_view>& records,
                             std::size_t max_records, std::uint64_t max_record_size,
                             tfrecord_checks checks = tfrecord_checks::all);

/// True when `frame` is one whole record and its checksums are right.
/// Thread safety: thread-compatible. Cost: the checksums.
[[nodiscard]] bool is_tfrecord(byte_view frame, tfrecord_checks checks) noexcept;

/// Returns the first offset in `bytes` at which the header of a record can begin: its checksum
/// matches and its length is at most `max_record_size`. Empty if there is none.
///
/// A reader continues there after a corrupt record. Data can look like a header by chance (the
/// checksum has 32 bits), and a record can contain a TFRecord file: only the checksum of the
/// payload proves that it is a record. The last tfrecord_header_size - 1 bytes may begin a header:
/// if nothing is found, search them again together with the bytes that follow.
///
/// Thread safety: thread-compatible. Cost: linear, a checksum of 8 bytes only where a length is
/// possible; no allocation.
[[nodiscard]] std::optional<std::size_t> find_tfrecord(byte_view bytes,
                                                       std::uint64_t max_record_size) noexcept;

/// The header of a record with this payload.
[[nodiscard]] std::array<std::byte, tfrecord_header_size> tfrecord_header(
    byte_view payload) noexcept;

/// The footer of a record with this payload.
[[nodiscard]] std::array<std::byte, tfrecord_footer_size> tfrecord_footer(
    byte_view payload) noexcept;

/// Appends a record with its frame to `out`. Errors: std::bad_alloc.
void append_tfrecord(std::vector<std::byte>& out, byte_view payload);

}  // namespace leat
