#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/internal/aligned_bytes.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/base/world_rank.hpp"
#include "leat/io/index/epoch_order.hpp"
#include "leat/io/index/indexed_reader_state.hpp"
#include "leat/io/index/record_selection.hpp"
#include "leat/io/index/tfrecord_file.hpp"
#include "leat/io/reader/corruption.hpp"

namespace LEAT {

namespace detail {
class batched_reads;
}

/// Options of an indexed_reader.
struct indexed_reader_options {
  /// Number of epochs; if not set, the reader repeats them indefinitely. The count starts at the
  /// first epoch, even after a state was restored.
  std::optional<std::uint64_t> num_epochs = {};
  bool shuffle = true;  ///< whether each epoch has a new random order
  /// Seed of the orders; if not set, a random one. If several ranks shuffle, all of them need the
  /// same seed.
  std::optional<std::uint64_t> seed = {};
  world_rank world = {};         ///< the rank of this reader, and the world size
  shard_options shard = {};      ///< how records are distributed to the ranks
  std::size_t batch_size = 128;  ///< maximum number of records in a batch
  /// Maximum number of records to read ahead if the data is not in the page cache; 0 turns reading
  /// ahead off. The next batch does not count towards the limit.
  std::size_t records_ahead = 1024;
  /// Limit for the batches that were read and are not delivered yet, in bytes. A batch uses at most
  /// half of it, but contains at least one record.
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
  /// Maximum number of open files, 1 or more. Each read of files() that is in progress may open one
  /// more.
  std::size_t max_open_files = 256;
  /// How the files are read. `depth` limits the reads in flight of all files together.
  tfrecord_file_options file = {.max_gap = 0};
  /// fail, skip_record or resync. skip_record and resync are equivalent, because an index contains
  /// the offset of the next record.
  corruption_options corruption = {};
  option_string name = "indexed_reader";  ///< for messages
};

/// Counters of an indexed_reader.
struct indexed_reader_statistics {
  std::uint64_t records = 0;    ///< delivered
  std::uint64_t repeated = 0;   ///< of these, repeated so that all ranks deliver equally many
  std::uint64_t dropped = 0;    ///< not delivered, so that all ranks deliver equally many
  std::uint64_t reports = 0;    ///< records that were skipped as corrupt
  std::uint64_t transient = 0;  ///< records that were corrupt, but intact when read again
};

/// A reader of TFRecord files that delivers the records epoch by epoch, each epoch in an order of
/// its own: a global shuffle without a buffer.
///
///     auto reader = co_await leat::indexed_reader::open(paths, {.num_epochs = 3, .seed = 1});
///     leat::record_selection batch;
///     while (co_await reader->read_batch(batch))
///       for (leat::byte_view record : batch) use(record);
///
/// The order of an epoch is a permutation of all records of all files, a function of (seed, epoch);
/// see permutation and epoch_order. The reader finds records by the indexes of their files, see
/// tfrecord_file, and reads many of them together. The records of a batch share one memory
/// allocation and are not copied from there. All records of a batch belong to one epoch.
///
/// In a job with several ranks, each rank reads its share; see world_rank and shard_options.
///
/// read_batch() copies records that are in the page cache during the call. After the first record
/// of an epoch that is not in the page cache, the reader reads ahead.
///
/// If there are more files than max_open_files, the reader closes the least recently read ones and
/// reopens a file when it needs it. If the size or modification time of a file has changed by then,
/// the read fails. If file descriptors are scarce, the reader keeps fewer files open.
///
/// Memory: max_bytes, the indexes of the files, and the batches that the program keeps.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; one operation at a time.
class indexed_reader {
 public:
  /// Opens files with the indexes that are stored next to them; builds missing indexes.
  ///
  /// Errors: those of tfrecord_file::open(), for the first file that cannot be opened. Also
  ///         invalid_argument for an option out of range, for an empty list of files, for
  ///         corruption_policy::skip_file, and if there are too many ranks for each to have
  ///         something to read.
  [[nodiscard]] static task<std::unique_ptr<indexed_reader>> open(
      option_list<std::string> paths, indexed_reader_options options = {},
      std::source_location where = std::source_location::current());

  /// Checks options before the files are known. Throws if open() would reject them for any list of
  /// files.
  /// Errors: invalid_argument.
  static void check_options(const indexed_reader_options& o);

  /// Throws if several ranks shuffle without a seed. read_batch() makes the same check, unless a
  /// state was restored.
  /// Errors: invalid_argument.
  static void check_seed(const indexed_reader_options& o);

  /// Creates a reader of open files. Each file keeps the options with which it was opened; of
  /// `options.file`, only `depth` and `max_gap` apply.
  /// Errors: invalid_argument, as in open().
  indexed_reader(std::vector<std::unique_ptr<tfrecord_file>> files, indexed_reader_options options);
  indexed_reader(const indexed_reader&) = delete;
  indexed_reader& operator=(const indexed_reader&) = delete;

  /// Abandons the reads in flight; their files are closed when the reads end.
  ~indexed_reader();

  /// Replaces the contents of `batch` with the next records of the epoch, at least one.
  ///
  /// Returns true, or false with an empty batch after the last epoch or if the files have no
  /// records.
  ///
  /// Errors:       data_loss for a corrupt record, resource_exhausted for a record above the limit,
  ///               and failed_precondition for a record whose size differs from the index. The
  ///               corruption policy decides whether they are thrown. Their messages contain path,
  ///               record, offset and checksums, and the records before the faulty one are
  ///               delivered first. Also failed_precondition for a file that was changed while it
  ///               was closed; system errors. The next call tries again.
  /// Cancellation: total: no record is lost, and the next call continues.
  /// Cost:         one read for each record that has no neighbour in the batch, and a few
  ///               allocations for the batch.
  [[nodiscard]] task<bool> read_batch(record_selection& batch,
                                      std::source_location where = std::source_location::current());

  /// Returns the number of records of all files, for all ranks together.
  [[nodiscard]] std::uint64_t size() const noexcept { return order_.size(); }

  /// Returns how many records this rank delivers in the present epoch if no record is corrupt. The
  /// present epoch is the epoch of the next record. By files, the numbers can differ between
  /// epochs.
  [[nodiscard]] shard_counts counts() const;

  /// Returns the epoch of the last delivered batch, from 0.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return batch_epoch_; }

  /// Returns the seed of the orders: from the options, from a restored state, or chosen at random.
  [[nodiscard]] std::uint64_t seed() const noexcept { return order_.seed(); }

  /// Returns the position after the last delivered record. Do not call it while an operation is in
  /// progress.
  ///
  /// By records, it is the state of all ranks together: ranks that have delivered equally many
  /// records have equal states, and saving one of them is enough. Otherwise, and by files, save the
  /// state of each rank and use restore_ranks().
  [[nodiscard]] indexed_reader_state state() const;
  /// Returns state() in its serialized form, for restore_state() and restore_ranks().
  [[nodiscard]] std::string serialize_state() const { return state().to_bytes(); }

  /// Resumes at the position of another reader, with the rank of this one. The reader delivers the
  /// rest of that epoch and then the following epochs up to `num_epochs`, which may differ from the
  /// other reader's. After the last epoch, read_batch() returns false immediately.
  ///
  /// By records, world_size may differ from the other reader's. By files, it may differ only at the
  /// beginning of an epoch or in a redistributed epoch; otherwise use restore_ranks().
  ///
  /// Records that the other reader skipped as corrupt are not counted, because their number differs
  /// between ranks. statistics() and the limit of corruption_options::max_reports continue from the
  /// counts of this reader.
  ///
  /// Errors: failed_precondition if the files have changed or are different ones, if the options
  ///         result in other orders, or if more epochs have begun than `num_epochs`. The message
  ///         names the difference. Also invalid_argument for bytes that are not a state;
  ///         unimplemented for a state of a later version. After an error, nothing has changed.
  void restore_state(std::string_view bytes);

  /// Resumes from the states of several ranks, in the order of the ranks. If there are as many
  /// states as ranks now, each rank resumes from its own state. Otherwise the ranks share the
  /// records that are left; see indexed_reader_state::reshard().
  ///
  /// Errors: those of restore_state() and reshard().
  void restore_ranks(std::span<const std::string> states);

  /// Returns the files, for reading records out of order. Do not use them while an operation is in
  /// progress.
  [[nodiscard]] std::span<const std::unique_ptr<tfrecord_file>> files() const noexcept;

  /// Returns the counters of the reader.
  [[nodiscard]] const indexed_reader_statistics& statistics() const noexcept { return statistics_; }
  /// Returns the name of the reader, as error messages contain it.
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }

 private:
  struct block;
  struct bad_record;
  struct batch_outcome;
  struct epoch_position {
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;
  };
  struct resharded_epoch {
    std::uint64_t epoch = 0;
    std::vector<epoch_part> parts = {};  // none: it is a whole one
  };

  void check_ranks() const;
  void check_files(const indexed_reader_state& s) const;
  void check_state(const indexed_reader_state& s) const;
  void restore_from(indexed_reader_state s);
  void begin_epoch(epoch_order& order, std::uint64_t epoch) const;

  [[nodiscard]] bool at_end(const epoch_position& p) const noexcept;
  [[nodiscard]] std::shared_ptr<block> plan();
  void start_planned();
  [[nodiscard]] bool has_capacity_for(const block& b) const noexcept;
  void start_reads_ahead();
  void drop_reads_ahead() noexcept;

  [[nodiscard]] task<void> fetch(std::shared_ptr<block> b, std::source_location where);
  [[nodiscard]] task<std::vector<bad_record>> check(const block& b, std::source_location where);
  [[nodiscard]] batch_outcome decide(const block& b, const std::vector<bad_record>& found) const;
  void deliver(const block& b, const batch_outcome& v, record_selection& batch);
  [[nodiscard]] task<void> deliver_reports(std::vector<corruption_report> reports);

  const std::vector<std::unique_ptr<tfrecord_file>> files_;
  const indexed_reader_options options_;
  detail::exclusive_use in_use_;
  epoch_order order_;  // in the epoch of ahead_
  resharded_epoch resharded_;
  indexed_reader_state identity_;  // at the beginning
  std::shared_ptr<const void> paths_;
  std::shared_ptr<detail::batched_reads> reads_;
  epoch_position next_;                        // behind what was delivered
  epoch_position ahead_;                       // behind what is in blocks
  std::deque<std::shared_ptr<block>> blocks_;  // begun, and not given yet
  std::shared_ptr<block> planned_;             // for which there is no memory yet
  bool has_common_order_ = false;              // of a state; else the options have to tell it
  bool reads_ahead_ = false;
  detail::aligned_bytes spare_;
  std::uint64_t batch_epoch_ = 0;
  std::exception_ptr error_;  // for the next call
  indexed_reader_statistics statistics_;
};

}  // namespace LEAT
