#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "leat/base/bytes.hpp"

namespace LEAT {

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
/// The size of the frame after the payload, in bytes.
inline constexpr std::size_t tfrecord_footer_size = 4;
/// The size of the whole frame of a record, in bytes.
inline constexpr std::size_t tfrecord_overhead = tfrecord_header_size + tfrecord_footer_size;

/// The checksums that a scan verifies. Without the header's, a corrupt length is not detected.
enum class tfrecord_checks { all, header_only, none };

/// The status in which a scan of a sequence of bytes ended.
enum class tfrecord_scan_status {
  need_more,             ///< the next record is incomplete; see tfrecord_scan::needed
  full,                  ///< `max_records` records were found
  bad_length_checksum,   ///< the length is corrupt; the offset of the next record is unknown
  bad_payload_checksum,  ///< the payload is corrupt; the next record begins at consumed + needed
  too_large,             ///< the length is above the limit
};

/// The result of a scan, apart from the records.
struct tfrecord_scan {
  /// The status in which the scan ended.
  tfrecord_scan_status status = tfrecord_scan_status::need_more;
  std::size_t consumed = 0;  ///< bytes of the complete, intact records
  /// need_more: the size of the next record with its frame, as far as it is known (at least
  /// tfrecord_header_size). A record that failed: its size with its frame, if it is known.
  std::uint64_t needed = tfrecord_header_size;
  std::uint64_t length = 0;        ///< payload size in the header of the record that failed
  std::uint32_t expected_crc = 0;  ///< stored checksum, unmasked
  std::uint32_t actual_crc = 0;    ///< checksum of the data
};

/// Finds complete records at the beginning of `bytes`, which must begin at a record. Appends views
/// of their payloads to `records`, at most `max_records` of them.
///
/// Never reads beyond `bytes`. Never allocates memory for a length that it has read: `records`
/// grows only by the records found.
///
/// Thread safety: thread-compatible.
/// Cost:          a few ns a record, plus the checksum.
tfrecord_scan scan_tfrecords(byte_view bytes, std::vector<byte_view>& records,
                             std::size_t max_records, std::uint64_t max_record_size,
                             tfrecord_checks checks = tfrecord_checks::all);

/// Returns true if `frame` is exactly one complete record and the checksums that `checks` selects
/// match.
/// Thread safety: thread-compatible.
/// Cost:          the checksums.
[[nodiscard]] bool is_tfrecord(byte_view frame, tfrecord_checks checks) noexcept;

/// Returns the first offset in `bytes` at which the header of a record can begin: its checksum
/// matches and its length is at most `max_record_size`. Returns an empty optional if there is none.
///
/// A reader continues there after a corrupt record. Data can look like a header by chance, because
/// the checksum has only 32 bits, and a record can contain a TFRecord file. Only the checksum of
/// the payload proves that it is a record. The last tfrecord_header_size - 1 bytes may begin a
/// header. If nothing is found, search them again together with the bytes that follow.
///
/// Thread safety: thread-compatible.
/// Cost:          linear, a checksum of 8 bytes only where a length is possible; no allocation.
[[nodiscard]] std::optional<std::size_t> find_tfrecord(byte_view bytes,
                                                       std::uint64_t max_record_size) noexcept;

/// Returns the header of a record with this payload.
[[nodiscard]] std::array<std::byte, tfrecord_header_size> tfrecord_header(
    byte_view payload) noexcept;

/// Returns the footer of a record with this payload.
[[nodiscard]] std::array<std::byte, tfrecord_footer_size> tfrecord_footer(
    byte_view payload) noexcept;

/// Appends a record with its frame to `out`.
/// Errors: std::bad_alloc.
void append_tfrecord(std::vector<std::byte>& out, byte_view payload);

}  // namespace LEAT
