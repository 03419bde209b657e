#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "leat/base/permutation.hpp"
#include "leat/base/world_rank.hpp"

namespace leat {

/// What is cut into parts for the ranks of a job.
enum class shard_by {
  records,  ///< all ranks together go through one order of all records
  files,    ///< each rank goes through the records of its own files
};

/// What becomes of records that do not go evenly into the ranks.
enum class shard_remainder {
  keep,    ///< some ranks have more records than others
  drop,    ///< all have as many as the one with the fewest; the others' are left out
  repeat,  ///< all have as many as the one with the most; the others have some of theirs again
};

/// How the records of an epoch are divided among the ranks of a job.
struct shard_options {
  shard_by by = shard_by::records;
  shard_remainder remainder = shard_remainder::keep;
};

/// Some records of the order of an epoch: every `stride`-th of its positions.
struct epoch_part {
  std::uint64_t epoch = 0;
  std::uint64_t first = 0;  ///< position, from 0
  std::uint64_t stride = 1;
  std::uint64_t count = 0;
  /// By files: of so many ranks, whose orders stand one behind the other. 0: by records.
  std::uint64_t ranks = 0;

  friend bool operator==(const epoch_part&, const epoch_part&) = default;
};

/// How many records a rank gets.
struct shard_counts {
  std::uint64_t records = 0;   ///< in all
  std::uint64_t repeated = 0;  ///< of these, how many it had before in the epoch, or another rank
  std::uint64_t dropped = 0;   ///< how many of its own it does not get

  friend bool operator==(const shard_counts&, const shard_counts&) = default;
};

/// Which record of some files comes when: the order of an epoch, as one rank of several reads it.
///
/// A function of (records of the files, seed, epoch, rank, shard). All ranks together get each
/// record exactly once, except for those that `remainder` drops or repeats.
///
/// By records, all files are one list. Ranks take turns: in the step from position p of the epoch's
/// order on, rank r has the record at p + r, and the next step begins at p + world_size. So what
/// has been read after each step is the beginning of the order, whatever the number of ranks, and
/// another number of ranks can go on from there.
///
/// By files, rank r has the files r, r + world_size, ... of the epoch's order of files, and goes
/// through an order of their records. Files without records count for nothing. A position is how
/// many records the rank has had.
///
/// Without a shuffle the order is that of the files.
///
/// An epoch that was distributed again while it was read consists of parts of orders, its own and
/// those of earlier epochs. Its positions count through these parts, one after the other. In such
/// an epoch ranks take turns, by files too.
///
/// A value type. Thread safety: thread-compatible; thread-safe where nobody calls begin().
class epoch_order {
 public:
  /// A record, and where it stands.
  struct entry {
    std::size_t file = 0;            ///< index of its file
    std::uint64_t index = 0;         ///< of the record in the file
    std::uint64_t global_index = 0;  ///< of the record among those of all files
    bool repeated = false;           ///< it was there before in this epoch
  };

  /// Of files with so many records each, in epoch 0.
  /// Errors: invalid_argument for a rank that is not valid, or more than 2^63 records.
  epoch_order(std::span<const std::uint64_t> records_of_files, bool shuffle, std::uint64_t seed,
              world_rank world, const shard_options& shard = {});

  /// Goes over to another epoch. Errors: std::bad_alloc, by files; then nothing has changed.
  /// Cost: by records O(1), by files O(files).
  void begin(std::uint64_t epoch);
  /// The same to one that was dealt out anew; without parts, to the whole one. Precondition: the
  /// positions of all parts are within the orders. Cost: O(parts); by files also O(files) for each
  /// epoch that they are of.
  void begin(std::uint64_t epoch, std::span<const epoch_part> parts);
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Records of all files.
  [[nodiscard]] std::uint64_t size() const noexcept { return firsts_.back(); }

  /// By files: where, in the orders of so many ranks one behind the other, that of each rank begins
  /// in an epoch; the last one is their end. Errors: std::bad_alloc. Cost: O(files + ranks).
  [[nodiscard]] std::vector<std::uint64_t> rank_begin_positions(std::uint64_t epoch,
                                                                std::uint64_t ranks) const;

  /// What this rank gets from a position on; from 0, in the whole epoch.
  [[nodiscard]] shard_counts remaining_from(std::uint64_t position) const noexcept;

  /// The record of the step at a position from which on there are some left.
  /// Cost: that of a permutation, and O(log files).
  [[nodiscard]] entry at(std::uint64_t position) const noexcept;

  /// The position of the next step.
  [[nodiscard]] std::uint64_t next(std::uint64_t position) const noexcept {
    return position + (has_rank_order() ? 1 : world_.world_size);
  }

  /// True at a position at which the epoch is over for all ranks; by files, for this one.
  [[nodiscard]] bool ended(std::uint64_t position) const noexcept;

 private:
  // What a rank would get if each had its own, and the ranks with the fewest and the most.
  struct shares {
    std::uint64_t own;
    std::uint64_t least;
    std::uint64_t most;
  };

  // The files of some ranks, one rank's behind the other's.
  struct shared_files {
    std::vector<std::size_t> files;
    std::vector<std::uint64_t> firsts;  // position of the first record of each; the end
    std::vector<std::uint64_t> begins;  // of each rank that has any; the end
  };
  // The orders of some ranks in an epoch.
  struct rank_orders {
    std::uint64_t epoch;
    std::uint64_t ranks;
    shared_files shared;
    std::vector<permutation> orders;
  };
  struct resharded_part {
    epoch_part part;
    permutation order;                  // of its epoch, by records
    std::uint64_t begin;                // its first position
    std::size_t rank_orders_index = 0;  // by files: which of these it is of
  };

  [[nodiscard]] bool by_files() const noexcept { return shard_.by == shard_by::files; }
  // Of this epoch: else all ranks go through the same one.
  [[nodiscard]] bool has_rank_order() const noexcept { return by_files() && parts_.empty(); }
  // Positions of an epoch, of all ranks or, by files, of this one.
  [[nodiscard]] std::uint64_t position_count() const noexcept {
    return parts_.empty() ? order_.size() : parts_.back().begin + parts_.back().part.count;
  }
  [[nodiscard]] std::uint64_t global_index_at(std::uint64_t order_position) const noexcept;
  [[nodiscard]] std::uint64_t global_index_at(const resharded_part& d,
                                              std::uint64_t order_position) const noexcept;
  [[nodiscard]] std::uint64_t global_index_of(
      std::uint64_t item, const std::vector<std::size_t>& files,
      const std::vector<std::uint64_t>& firsts) const noexcept;

  [[nodiscard]] shares shares_from(std::uint64_t position) const noexcept;
  [[nodiscard]] std::uint64_t records_of(std::size_t file) const noexcept {
    return firsts_[file + 1] - firsts_[file];
  }
  void choose_files(std::uint64_t epoch);
  [[nodiscard]] shared_files share_files(std::uint64_t epoch, std::uint64_t ranks) const;
  [[nodiscard]] rank_orders make_rank_orders(std::uint64_t epoch, std::uint64_t ranks) const;

  std::vector<std::uint64_t> firsts_;  // global index of the first record of each file; the end
  bool shuffle_;
  std::uint64_t seed_;
  world_rank world_;
  shard_options shard_;
  std::uint64_t epoch_ = 0;
  permutation order_;  // of all records, or of those of this rank's files
  std::vector<resharded_part> parts_;
  std::vector<rank_orders> rank_orders_;  // of parts by files

  // By files.
  std::vector<std::size_t> nonempty_files_;
  std::vector<std::size_t> files_;          // of this rank
  std::vector<std::uint64_t> rank_firsts_;  // as firsts_, of files_
  std::uint64_t least_ = 0;
  std::uint64_t most_ = 0;
};

}  // namespace leat
