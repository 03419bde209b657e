#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"

namespace leat::detail {

/// Why the record at the beginning of a run of bytes cannot be delivered.
struct record_corruption {
  errc reason = errc::data_loss;
  std::string what;
  std::optional<std::uint32_t> expected_crc = {};
  std::optional<std::uint32_t> actual_crc = {};
  /// Bytes from its beginning to the next record, as it says itself; may be more than there are.
  /// Empty: not known; it has to be searched for.
  std::optional<std::uint64_t> size = {};
  /// True: none at all where the rest of the file holds no whole record.
  bool may_be_tail = false;
};

/// Why something is no record after all.
struct checksum_mismatch {
  std::uint32_t expected = 0;
  std::uint32_t actual = 0;
};

/// What is not known of a stream: how much is left of it.
inline constexpr std::uint64_t unknown_size = UINT64_MAX;

/// A run of bytes in which records are sought; it begins at one.
struct framing_input {
  byte_view bytes;
  /// Bytes left of the stream, or unknown_size; where it is bytes.size(), nothing comes behind.
  std::uint64_t left = unknown_size;
  std::uint64_t missing = 0;  ///< bytes of the header by which the stream is too short
  std::uint64_t index = 0;    ///< of the next record
  /// Bytes at its beginning that were sought through before, and hold no whole record.
  std::size_t searched = 0;
  bool inflated = false;  ///< the stream was inflated from a compressed file
};

/// What a framing found in its input, besides the records.
struct framing_result {
  /// Bytes up to the next record; may be more than there are.
  std::uint64_t consumed = 0;
  /// Records before those found that were left out, such as header lines.
  std::size_t left_out = 0;
  /// Bytes among those consumed that belong to no record and are no fault.
  std::uint64_t left_over = 0;
  /// Bytes of the record behind those found, where that is known and more than there are.
  std::uint64_t needed = 0;
  /// Of the record behind those found; none where it is only cut off.
  std::optional<record_corruption> fault = {};
};

// A framing says how records lie in a stream of bytes:
//
//   using options = ...;                      has a member corruption
//   using view = ...;                         byte_view or std::string_view
//   static constexpr std::size_t headroom;    bytes of a record that are usually carried over
//   static constexpr std::size_t frame;       bytes of a record before its data
//   static constexpr bool is_one_record_per_file;
//   static constexpr bool search_finds_end;  a search finds the end of the record itself
//
//   framing(const options&, path)             throws invalid_argument
//   decompressed_stream_options stream(const file_status&)
//                                             the best options to read a file
//   std::uint64_t first_record()              bytes before the first record
//   framing_result find(input, records)       appends the complete records at the beginning
//   std::optional<std::size_t> search(bytes)  the offset at which the next record can begin
//   std::size_t overlap                       bytes to be searched again with those that follow
//
// If search() finds only candidates:
//
//   std::optional<checksum_mismatch> contradicts(range_checksums&, bytes, offset)
//                                             why no record begins at these bytes, whatever
//                                             follows; empty if one may
//   bool exceeds_limit(bytes)                 true if a record that began here would be too long
//                                             to be delivered
//   std::optional<std::uint64_t> declared_size(bytes, left)
//                                             its size, if it is too long to be kept for a check
//   task<std::optional<checksum_mismatch>> verify_out_of_band(
//       decompressed_stream&, range_checksums&, offset, size, where)
//                                             like contradicts() for such a record, by reading
//                                             it without changing the view
//   record_corruption make_corruption(size, checksum_mismatch)
//                                             the corruption of such a record
//   byte_view leading_record(bytes)           the first record alone; empty if it is not complete
//
// If a corrupt header can state a wrong end:
//
//   std::size_t record_start_size             bytes that starts_record() needs
//   bool starts_record(bytes)                 true if a record can begin with these bytes
//
// For messages:
//
//   std::string position_text(index)          "record 3"
//   std::string key(position)                 "a.tfrecord:48"

}  // namespace leat::detail
