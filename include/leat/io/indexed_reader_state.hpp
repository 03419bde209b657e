#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "leat/codec/epoch_fingerprint.hpp"
#include "leat/io/epoch_order.hpp"

namespace leat {

/// What an indexed_reader needs to go on where it was, and to know its files again: at most 160
/// bytes, however many files, records and epochs there are.
///
/// In protobuf's wire format.
struct indexed_reader_state {
  static constexpr std::uint64_t version = 1;  ///< field 1

  std::uint64_t epoch = 0;          ///< field 2, from 0
  std::uint64_t position = 0;       ///< field 3, in the epoch's order; see epoch_order
  bool shuffle = true;              ///< field 4
  std::uint64_t seed = 0;           ///< field 5
  shard_by by = shard_by::records;  ///< field 6
  std::uint64_t world_size = 1;     ///< field 7; by files a position means nothing without it

  std::uint64_t files = 0;    ///< field 8
  std::uint64_t records = 0;  ///< field 9, of all files
  std::uint64_t size = 0;     ///< field 10, of all files, bytes
  /// Fields 11 and 12, of each file by its number: its size, records and sample.
  epoch_fingerprint contents = {};
  /// Fields 13 and 14: the time of its last change.
  epoch_fingerprint times = {};

  friend bool operator==(const indexed_reader_state&, const indexed_reader_state&) = default;

  /// The state as bytes; the same bytes for the same state.
  [[nodiscard]] std::string to_bytes() const;

  /// The state in `bytes`. Errors: invalid_argument for what to_bytes() cannot have written,
  /// unimplemented for a state of another version; with `reader`, who is to be restored.
  [[nodiscard]] static indexed_reader_state from_bytes(std::string_view bytes,
                                                       std::string_view reader);
};

}  // namespace leat
