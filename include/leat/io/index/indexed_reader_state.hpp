#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/codec/checksum/epoch_fingerprint.hpp"
#include "leat/io/index/epoch_order.hpp"

namespace LEAT {

/// The position of an indexed_reader and the identity of its files, from which a reader can resume.
///
/// Serialized in protobuf's wire format. The size is at most 160 bytes, for any number of files,
/// records and epochs, and up to 57 bytes more for each part of a redistributed epoch.
struct indexed_reader_state {
  static constexpr std::uint64_t version = 1;  ///< field 1

  std::uint64_t epoch = 0;          ///< field 2, from 0
  std::uint64_t position = 0;       ///< field 3, in the epoch's order; see epoch_order
  bool shuffle = true;              ///< field 4
  std::uint64_t seed = 0;           ///< field 5
  shard_by by = shard_by::records;  ///< field 6
  std::uint64_t world_size = 1;     ///< field 7; by files, needed to interpret `position`

  std::uint64_t files = 0;    ///< field 8
  std::uint64_t records = 0;  ///< field 9, of all files
  std::uint64_t size = 0;     ///< field 10, of all files, bytes
  /// Fields 11 and 12, of each file by its index: the size, the number of records and the sample.
  epoch_fingerprint contents = {};
  /// Fields 13 and 14, of each file by its index: the time of the last change.
  epoch_fingerprint times = {};

  /// Field 15, repeated: 1 epoch, 2 first, 3 stride, 4 count, 5 ranks (omitted if 0). The parts of
  /// a redistributed epoch; `position` then counts through them consecutively. Empty for other
  /// epochs.
  std::vector<epoch_part> parts = {};

  friend bool operator==(const indexed_reader_state&, const indexed_reader_state&) = default;

  /// Returns true if the position is within the order of a single rank: by files, after the
  /// beginning of an epoch that was not redistributed.
  [[nodiscard]] bool is_within_rank_order() const noexcept {
    return by == shard_by::files && position > 0 && parts.empty();
  }

  /// Returns the number of positions of the epoch. After the last one, no record is left. The order
  /// of a single rank may have fewer positions.
  [[nodiscard]] std::uint64_t position_count() const noexcept;

  /// Combines the states of all ranks, in the order of the ranks, into one state of the records
  /// that are left. Any number of ranks can resume from it.
  ///
  /// By records, ranks at the same position resume there. Otherwise the result begins with one part
  /// for each rank: the records that the rank has not read yet, up to the position of the farthest
  /// rank. If some ranks were in an earlier epoch, the remaining records of these epochs become one
  /// epoch. An epoch that was redistributed before may have several parts for each rank. By files,
  /// there is one part for each rank: the rest of its order.
  ///
  /// `remainder` is the option with which the ranks ran. `records_of_files` has the number of
  /// records of each file.
  ///
  /// Errors: failed_precondition, with `reader` in the message, if there are no states, if they
  ///         belong to different files or orders, or if ranks are more than 1,024 epochs apart;
  ///         invalid_argument for more than 2^63 records.
  /// Cost:   O(ranks), by files O(files + ranks), for each epoch that the ranks are apart.
  [[nodiscard]] static indexed_reader_state reshard(std::span<const indexed_reader_state> ranks,
                                                    std::span<const std::uint64_t> records_of_files,
                                                    shard_remainder remainder,
                                                    std::string_view reader);

  /// Serializes the state. Equal states have equal bytes.
  [[nodiscard]] std::string to_bytes() const;

  /// Parses a serialized state. `reader` names the reader to restore in error messages.
  /// Errors: invalid_argument for bytes that to_bytes() cannot have written; unimplemented for a
  ///         state of a later version.
  [[nodiscard]] static indexed_reader_state from_bytes(std::string_view bytes,
                                                       std::string_view reader);
};

}  // namespace LEAT
