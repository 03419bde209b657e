#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/codec/checksum/epoch_fingerprint.hpp"
#include "leat/io/index/epoch_order.hpp"

namespace leat {

/// What an indexed_reader needs to go on where it was, and to know its files again: at most 160
/// bytes, however many files, records and epochs there are; and up to 57 for each part of an epoch
/// that was dealt out anew.
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

  /// Field 15, repeated: 1 epoch, 2 first, 3 stride, 4 count, 5 ranks, left out where it is 0. Of
  /// an epoch that was dealt out anew: then a position is one in these, one behind the other.
  std::vector<epoch_part> parts = {};

  friend bool operator==(const indexed_reader_state&, const indexed_reader_state&) = default;

  /// True: each rank is in the midst of an order of its own, since it reads files of its own.
  [[nodiscard]] bool is_within_rank_order() const noexcept {
    return by == shard_by::files && position > 0 && parts.empty();
  }

  /// Positions of the epoch, behind the last of which none is left; an own order may have fewer.
  [[nodiscard]] std::uint64_t position_count() const noexcept;

  /// What several ranks have left, given the state of each one, rank by rank: for another number of
  /// ranks, each of which goes on with it.
  ///
  /// By records, ranks at the same position resume there. Otherwise the records that each rank has
  /// not had yet, up to the position of the farthest, come first as a part; if some ranks were in
  /// an earlier epoch, the rest of both epochs is one. An epoch that was distributed before may
  /// have several parts for each rank. By files, there is one part for each rank: the rest of its
  /// order. `remainder`: what the ranks did with records that cannot be distributed evenly.
  /// `records_of_files`: of the files that are read.
  ///
  /// Errors: failed_precondition, with `reader`, for states of other files or orders each, and of
  ///         ranks more than 1,024 epochs apart; invalid_argument for more than 2^63 records.
  /// Cost:   O(ranks), by files O(files + ranks), for each epoch that they are apart.
  [[nodiscard]] static indexed_reader_state reshard(std::span<const indexed_reader_state> ranks,
                                                    std::span<const std::uint64_t> records_of_files,
                                                    shard_remainder remainder,
                                                    std::string_view reader);

  /// The state as bytes; the same bytes for the same state.
  [[nodiscard]] std::string to_bytes() const;

  /// The state in `bytes`. Errors: invalid_argument for what to_bytes() cannot have written,
  /// unimplemented for a state of another version; with `reader`, who is to be restored.
  [[nodiscard]] static indexed_reader_state from_bytes(std::string_view bytes,
                                                       std::string_view reader);
};

}  // namespace leat
