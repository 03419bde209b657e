#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "leat/base/permutation.hpp"
#include "leat/base/world_rank.hpp"

namespace LEAT {

/// Whether the records or the files of an epoch are distributed to the ranks of a job.
enum class shard_by {
  records,  ///< all ranks share one order of all records
  files,    ///< each rank reads the records of its own files
};

/// How to handle records that cannot be distributed evenly to the ranks.
enum class shard_remainder {
  keep,    ///< some ranks deliver more records than others
  drop,    ///< each rank delivers as many as the one with the fewest; the rest is skipped
  repeat,  ///< each rank delivers as many as the one with the most; some records are repeated
};

/// Options for the distribution of the records of an epoch to the ranks of a job.
struct shard_options {
  /// The unit of the distribution: single records (`records`) or whole files (`files`).
  shard_by by = shard_by::records;
  /// Handling of records that cannot be distributed evenly: `keep`, `drop` or `repeat`.
  shard_remainder remainder = shard_remainder::keep;
};

/// A part of the order of an epoch: `count` positions, beginning with `first`, each `stride` after
/// the previous one.
struct epoch_part {
  /// The epoch whose order the part belongs to.
  std::uint64_t epoch = 0;
  std::uint64_t first = 0;  ///< position in the order, from 0
  /// The distance from one position of the part to the next, at least 1.
  std::uint64_t stride = 1;
  /// The number of positions in the part.
  std::uint64_t count = 0;
  /// By files: the number of ranks whose orders are concatenated; `first` is a position in the
  /// concatenation. 0: by records.
  std::uint64_t ranks = 0;

  friend bool operator==(const epoch_part&, const epoch_part&) = default;
};

/// The numbers of records that one rank delivers, repeats and drops.
struct shard_counts {
  std::uint64_t records = 0;   ///< all that it delivers
  std::uint64_t repeated = 0;  ///< of these, delivered before in the epoch, by it or another rank
  std::uint64_t dropped = 0;   ///< records of its share that it does not deliver

  friend bool operator==(const shard_counts&, const shard_counts&) = default;
};

/// The order in which one rank of a job reads the records of several files in an epoch.
///
/// The order is a function of the numbers of records of the files, `shuffle`, the seed, the epoch,
/// the rank and the shard options. All ranks together read each record exactly once, except for the
/// records that `remainder` drops or repeats.
///
/// By records, all files form one list, and the ranks take turns: in the step at position p of the
/// epoch's order, rank r reads the record at p + r. The next step is at p + world_size. After each
/// step, the records read so far are therefore a prefix of the order, for any number of ranks. A
/// different number of ranks can resume there.
///
/// By files, rank r reads the files r, r + world_size, ... of the epoch's order of files, in an
/// order of all their records. Files without records are ignored. A position is the number of
/// records that the rank has read.
///
/// Without a shuffle, the records are read in the order of the files.
///
/// An epoch that was redistributed while it was read consists of parts of several orders: its own
/// and those of earlier epochs. Its positions count through these parts consecutively. In such an
/// epoch, the ranks take turns even by files.
///
/// A value type.
///
/// Thread safety: thread-compatible; thread-safe while no thread calls begin().
class epoch_order {
 public:
  /// A record and its position.
  struct entry {
    std::size_t file = 0;            ///< index of the file
    std::uint64_t index = 0;         ///< index of the record in the file
    std::uint64_t global_index = 0;  ///< index of the record among those of all files
    bool repeated = false;           ///< the record occurred before in this epoch
  };

  /// Creates the order of epoch 0 for files with the given numbers of records.
  /// Errors: invalid_argument if `world` is not valid or if there are more than 2^63 records.
  epoch_order(std::span<const std::uint64_t> records_of_files, bool shuffle, std::uint64_t seed,
              world_rank world, const shard_options& shard = {});

  /// Switches to another epoch.
  /// Errors: std::bad_alloc, only by files; then nothing has changed.
  /// Cost:   by records O(1), by files O(files).
  void begin(std::uint64_t epoch);
  /// Switches to a redistributed epoch that consists of `parts`; if `parts` is empty, to a whole
  /// epoch.
  /// Precondition: the positions of all parts are within the orders.
  /// Cost:         O(parts); by files also O(files) for each epoch from which parts come.
  void begin(std::uint64_t epoch, std::span<const epoch_part> parts);
  /// Returns the epoch that the last begin() started, or 0 if there was none.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_; }

  /// Returns the seed of the orders.
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

  /// Returns the number of records of all files.
  [[nodiscard]] std::uint64_t size() const noexcept { return firsts_.back(); }

  /// Returns, by files, the position at which the order of each rank begins in `epoch` if the
  /// orders of `ranks` ranks are concatenated. The last value is the end of the last order.
  /// Errors: std::bad_alloc.
  /// Cost:   O(files + ranks).
  [[nodiscard]] std::vector<std::uint64_t> rank_begin_positions(std::uint64_t epoch,
                                                                std::uint64_t ranks) const;

  /// Returns the counts of this rank from `position` to the end of the epoch. Position 0 covers the
  /// whole epoch.
  [[nodiscard]] shard_counts remaining_from(std::uint64_t position) const noexcept;

  /// Returns the record that this rank reads in the step at `position`.
  /// Precondition: remaining_from(position).records > 0.
  /// Cost:         the cost of a permutation, and O(log files).
  [[nodiscard]] entry at(std::uint64_t position) const noexcept;

  /// Returns the position of the step after the one at `position`.
  [[nodiscard]] std::uint64_t next(std::uint64_t position) const noexcept {
    return position + (has_rank_order() ? 1 : world_.world_size);
  }

  /// Returns true if the epoch is over at `position`: for all ranks or, by files, for this rank.
  [[nodiscard]] bool ended(std::uint64_t position) const noexcept;

 private:
  // The number of records in this rank's own share, in the smallest and in the largest share.
  struct shares {
    std::uint64_t own;
    std::uint64_t least;
    std::uint64_t most;
  };

  // The files of some ranks, rank after rank.
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
  // Returns true if each rank has its own order in this epoch, or false if all ranks share one.
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

}  // namespace LEAT
