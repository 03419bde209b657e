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
#include "leat/base/detail/aligned_bytes.hpp"
#include "leat/base/detail/exclusive_use.hpp"
#include "leat/base/world_rank.hpp"
#include "leat/io/index/epoch_order.hpp"
#include "leat/io/index/indexed_reader_state.hpp"
#include "leat/io/index/record_selection.hpp"
#include "leat/io/index/tfrecord_file.hpp"
#include "leat/io/reader/corruption.hpp"

namespace leat {

namespace detail {
class batched_reads;
}

/// How an indexed_reader goes over its records.
struct indexed_reader_options {
  /// Times; none: again and again. Counted from the first epoch, also where a state was restored.
  std::optional<std::uint64_t> num_epochs = {};
  bool shuffle = true;  ///< a new order in each epoch
  /// Of the orders; none: others each time. Ranks that shuffle have to have the same one.
  std::optional<std::uint64_t> seed = {};
  world_rank world = {};         ///< which of the ranks this reader is
  shard_options shard = {};      ///< how the ranks share the records
  std::size_t batch_size = 128;  ///< records of a batch, at most
  /// Records that are read, or being read, before they are asked for, where the data is not in the
  /// page cache; 0: none. The batch that comes next is not counted.
  std::size_t records_ahead = 1024;
  /// Bytes of the batches that are read and not given yet. A batch takes at most half of it, and at
  /// least one record.
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
  /// Files that are open at a time, 1 or more; one more for each read of files() that is under way.
  std::size_t max_open_files = 256;
  /// How the files are read; `depth` reads are under way in all files together.
  tfrecord_file_options file = {.max_gap = 0};
  /// fail, skip_record or resync, which are one here: an index says where the next record is.
  corruption_options corruption = {};
  braced<std::string> name = "indexed_reader";  ///< for messages
};

/// What an indexed_reader has done so far.
struct indexed_reader_statistics {
  std::uint64_t records = 0;    ///< delivered
  std::uint64_t repeated = 0;   ///< of these, given again to make the ranks equal
  std::uint64_t dropped = 0;    ///< not given, to make the ranks equal
  std::uint64_t reports = 0;    ///< records that were left out as corrupt
  std::uint64_t transient = 0;  ///< records that were corrupt, and in order when read once more
};

/// Reads the records of TFRecord files epoch by epoch, each in an order of its own: a global
/// shuffle, without a buffer.
///
///     auto reader = co_await leat::indexed_reader::open(paths, {.num_epochs = 3, .seed = 1});
///     leat::record_selection batch;
///     while (co_await reader->read_batch(batch))
///       for (leat::byte_view record : batch) use(record);
///
/// The order of an epoch is a permutation of all records of all files, a function of (seed, epoch);
/// see permutation and epoch_order. Records are found by the indexes of their files, see
/// tfrecord_file, and read many at a time; those of a batch lie in one memory, from where they are
/// not copied. A batch has records of one epoch only.
///
/// Of a job with several ranks each reads its part; see world_rank and shard_options.
///
/// Records that are in the page cache are copied in the call. After the first one in an epoch that
/// is not, the reader reads ahead.
///
/// Of more files than max_open_files those are closed that were not read lately, and opened again
/// when it is their turn; one that has another size or time by then is an error. Where descriptors
/// are short, fewer are open. Memory: max_bytes, the indexes of the files, and the batches that the
/// program keeps.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; one operation at a time.
class indexed_reader {
 public:
  /// Opens files, with the indexes that stand beside them; makes those where there are none.
  ///
  /// Errors: those of tfrecord_file::open(), for the first file that has one; invalid_argument for
  ///         an option out of range, for no files, for a skip of whole files, and for so many ranks
  ///         that one of them would have nothing to read.
  [[nodiscard]] static task<std::unique_ptr<indexed_reader>> open(
      braced<std::vector<std::string>> paths, indexed_reader_options options = {},
      std::source_location where = std::source_location::current());

  /// For who declares a reader before there are files: refuses what open() would refuse for any.
  /// Errors: invalid_argument.
  static void check_options(const indexed_reader_options& o);

  /// Refuses what a reader refuses that was not restored: ranks that shuffle without a seed.
  /// Errors: invalid_argument.
  static void check_seed(const indexed_reader_options& o);

  /// Of files that are open; how they were opened counts, of `options.file` but depth and max_gap.
  /// Errors: invalid_argument, as open().
  indexed_reader(std::vector<std::unique_ptr<tfrecord_file>> files, indexed_reader_options options);
  indexed_reader(const indexed_reader&) = delete;
  indexed_reader& operator=(const indexed_reader&) = delete;

  /// Leaves the reads that are under way to themselves; their files are closed when they end.
  ~indexed_reader();

  /// Replaces the contents of `batch` by the next records of the epoch; at least one. False after
  /// the last epoch, and where the files have no records: the batch is empty then.
  ///
  /// Errors:       data_loss for corruption, resource_exhausted for a record above the limit,
  ///               failed_precondition for one of another size than the index says, with path,
  ///               record, offset and checksums, as the corruption policy says, after the records
  ///               before it; failed_precondition for a file that was changed while it was closed;
  ///               those of the system. The next call tries again.
  /// Cancellation: total: no record is lost, the next call goes on.
  /// Cost:         a read for each record that has no neighbour in the batch, and a few allocations
  ///               for the batch.
  [[nodiscard]] task<bool> read_batch(record_selection& batch,
                                      std::source_location where = std::source_location::current());

  /// Records of all files, for all ranks.
  [[nodiscard]] std::uint64_t size() const noexcept { return order_.size(); }

  /// How many records of an epoch are given here, if none is corrupt. By files it is another number
  /// in each epoch; this is that of the present one.
  [[nodiscard]] shard_counts counts() const;

  /// The epoch of the batch that was delivered last, from 0.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return batch_epoch_; }

  /// Of the orders: the one that was given, or found.
  [[nodiscard]] std::uint64_t seed() const noexcept { return order_.seed(); }

  /// Where the reader stands: behind the last record that was delivered. Not while an operation is
  /// under way.
  ///
  /// By records it is the state of all ranks together: ranks that have delivered equally many
  /// records have equal states, and one of them is enough to save. Of others, and by files, that of
  /// each is needed: restore_ranks().
  [[nodiscard]] indexed_reader_state state() const;
  [[nodiscard]] std::string serialize_state() const { return state().to_bytes(); }

  /// Goes on where another reader stood, as the rank that this one is: with what is left of that
  /// epoch, and then the epochs behind it up to `num_epochs`, which may be another number than
  /// there. Behind the last one read_batch() gives false at once.
  ///
  /// By records, world_size may be another one than there; by files only at the beginning of an
  /// epoch, or by restore_ranks(). What was left out as corrupt before, which is another number for
  /// each rank, is not counted: statistics() and the limit of corruption_options::max_reports go on
  /// from what this reader has.
  ///
  /// Errors: failed_precondition where the files have changed or are others, the options give
  ///         other orders, or more epochs have begun than `num_epochs`; the message says what
  ///         differs. invalid_argument for bytes that are no state. Nothing has changed then.
  void restore_state(std::string_view bytes);

  /// Goes on with what several ranks have left, given the state of each one, rank by rank: as many
  /// ranks as there are here go on each as it was, and any other number shares what is left, see
  /// indexed_reader_state::reshard().
  ///
  /// Errors: those of restore_state() and reshard(); failed_precondition for no states.
  void restore_ranks(std::span<const std::string> states);

  /// The files, for records that are wanted out of turn; not while an operation is under way.
  [[nodiscard]] std::span<const std::unique_ptr<tfrecord_file>> files() const noexcept;

  [[nodiscard]] const indexed_reader_statistics& statistics() const noexcept { return statistics_; }
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

}  // namespace leat
