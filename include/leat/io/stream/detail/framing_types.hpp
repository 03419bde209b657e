#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"

// Types that a framing and its reader exchange; lib/io/reader/record_framing.hpp has the concept.

namespace LEAT::detail {

/// The reason why the record at the beginning of a run of bytes cannot be delivered.
struct record_corruption {
  errc reason = errc::data_loss;
  std::string what;
  std::optional<std::uint32_t> expected_crc = {};
  std::optional<std::uint32_t> actual_crc = {};
  /// Bytes from its beginning to the next record, as the record declares; may be more than the
  /// stream has. If not set, the next record has to be searched for.
  std::optional<std::uint64_t> size = {};
  /// If true, there is no corruption if the rest of the file has no intact record.
  bool may_be_tail = false;
};

/// The reason why bytes are not a record after all.
struct checksum_mismatch {
  std::uint32_t expected = 0;
  std::uint32_t actual = 0;
};

/// The value for an unknown number of bytes that are left in a stream.
inline constexpr std::uint64_t unknown_size = UINT64_MAX;

/// A run of bytes in which the framing looks for records; it begins at a record.
struct framing_input {
  byte_view bytes;
  /// Bytes left in the stream, or unknown_size. Nothing follows if it equals bytes.size().
  std::uint64_t left = unknown_size;
  std::uint64_t missing = 0;  ///< bytes of the header that the stream lacks
  std::uint64_t index = 0;    ///< of the next record
  /// Bytes at its beginning that were searched before and contain no intact record.
  std::size_t searched = 0;
  bool decompressed = false;  ///< the stream was decompressed from a compressed file
  std::uint64_t offset = 0;   ///< of the first byte in the stream
  std::uint8_t state = 0;     ///< framing_result::state of the call that searched the bytes before
};

/// The result of a framing, besides the records.
struct framing_result {
  /// Bytes up to the next record; may be more than the stream has.
  std::uint64_t consumed = 0;
  /// Records that were skipped before the found ones, such as header lines.
  std::size_t left_out = 0;
  /// Consumed bytes that belong to no record and are not corrupt.
  std::uint64_t left_over = 0;
  /// Bytes of the record after the found ones, if known and more than the input has.
  std::uint64_t needed = 0;
  /// The state of the search at the end of the bytes, which only the framing interprets.
  std::uint8_t state = 0;
  /// Corruption of the record after the found ones; not set if the record is only incomplete.
  std::optional<record_corruption> fault = {};
};

}  // namespace LEAT::detail
