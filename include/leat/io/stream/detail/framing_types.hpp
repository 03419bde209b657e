#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"

// What a framing and its reader exchange; lib/io/reader/record_framing.hpp has the concept.

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

}  // namespace leat::detail
