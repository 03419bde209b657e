#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/codec/tfrecord/tfrecord_index.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/index/record_selection.hpp"
#include "leat/io/reader/record_reader.hpp"

namespace leat {

namespace detail {
struct record_corruption;
struct file_range;
struct record_frame;
class open_file_cache;
}  // namespace detail

/// How records of a TFRecord file are read by index.
struct tfrecord_file_options {
  tfrecord_checks checks = tfrecord_checks::all;
  std::uint64_t max_record_size = std::uint64_t{1} << 30;  ///< bytes; a larger record is an error
  /// Reads under way at a time where the data is not in the page cache, 1 to 1024.
  std::size_t depth = 128;
  /// Bytes between two records that are read in one go with them.
  std::size_t max_gap = 4096;
  /// Bytes of the records of one read() together, those between them included: more is an error,
  /// before memory is taken. A single record is subject to max_record_size only.
  std::uint64_t max_selection_size = std::uint64_t{1} << 30;
};

/// A TFRecord file whose records are read in any order.
///
///     auto file = co_await leat::tfrecord_file::open("a.tfrecord");
///     leat::owned_record last = co_await file->at(file->size() - 1);
///
///     leat::record_selection selection;  // used again and again
///     co_await file->read(indices, selection);
///     for (leat::byte_view record : selection) use(record);
///
/// Needs an index: the one beside the file, or it makes one, see load_or_build_tfrecord_index().
/// A compressed file has none. Keeps nothing of its records but the index.
///
/// Each record is compared with the index and its checksums; one that does not match is read once
/// more, since the fault may have come about on the way.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; any number of reads at a
///                time.
class tfrecord_file {
 public:
  /// Opens a file, with the index that stands beside it; makes that where there is none.
  ///
  /// Errors: those of file::open() and load_or_build_tfrecord_index(); invalid_argument for an
  ///         option out of range.
  [[nodiscard]] static task<std::unique_ptr<tfrecord_file>> open(
      std::string path, tfrecord_file_options options = {},
      std::source_location where = std::source_location::current());

  /// Opens a file with an index from elsewhere. Errors: failed_precondition when it is not that of
  /// the file; those of file::open(); invalid_argument for an option out of range.
  [[nodiscard]] static task<std::unique_ptr<tfrecord_file>> open(
      std::string path, tfrecord_index index, tfrecord_file_options options = {},
      std::source_location where = std::source_location::current());

  /// Of an open file and its own index. Errors: failed_precondition for a file that is not open;
  /// invalid_argument for an option out of range.
  tfrecord_file(file f, tfrecord_index index, const tfrecord_file_options& options);
  tfrecord_file(const tfrecord_file&) = delete;
  tfrecord_file& operator=(const tfrecord_file&) = delete;

  /// How many records there are.
  [[nodiscard]] std::uint64_t size() const noexcept { return index_.size(); }

  /// Where they stand, and how large they are.
  [[nodiscard]] const tfrecord_index& index() const noexcept { return index_; }
  [[nodiscard]] const std::string& path() const noexcept { return *path_; }

  /// Reads record `i`.
  ///
  /// Errors:       out_of_range when there is none; data_loss for a corrupt one, with path, record,
  ///               offset and checksums; resource_exhausted for one above the limit;
  ///               failed_precondition for one of another size than the index says; those of the
  ///               system. Nothing is kept of an error: each call reads the file again, so that one
  ///               of the system, such as EIO, does not repeat unless its cause lasts.
  /// Cancellation: before the read begins; nothing is lost by it.
  /// Cost:         one read.
  [[nodiscard]] task<owned_record> at(std::uint64_t i,
                                      std::source_location where = std::source_location::current());

  /// Replaces the contents of `selection` by the records of these indices, in this order; an index
  /// may stand there twice. Reads in the order of the file, `depth` pieces at a time, neighbours in
  /// one go.
  ///
  /// Errors:       as at(), for one of the records; the selection is empty then. resource_exhausted
  ///               where all together are above max_selection_size; invalid_argument where they are
  ///               larger than what can be addressed.
  /// Cancellation: begins no further read and awaits those under way; the selection is empty then.
  /// Cost:         memory for the records, for the gaps between neighbours, and 130 bytes each.
  [[nodiscard]] task<void> read(std::span<const std::uint64_t> indices, record_selection& selection,
                                std::source_location where = std::source_location::current());

  /// The same for `count` records from record `first` on.
  [[nodiscard]] task<void> read_range(std::uint64_t first, std::uint64_t count,
                                      record_selection& selection,
                                      std::source_location where = std::source_location::current());

  /// Records delivered so far, and how many of them were corrupt only when read at first.
  [[nodiscard]] const reader_statistics& statistics() const noexcept { return statistics_; }

 private:
  friend class indexed_reader;

  using requested_record = detail::record_frame;
  using range = detail::file_range;

  static void check_options(const tfrecord_file_options& options, const std::string& path);
  [[nodiscard]] requested_record find(std::uint64_t i, std::size_t position) const;
  [[nodiscard]] std::string position_text(const requested_record& w) const;
  [[nodiscard]] task<void> reopen(std::source_location where);
  [[nodiscard]] task<void> fill(std::vector<requested_record> all, record_selection& selection,
                                std::source_location where);
  [[nodiscard]] task<void> fetch(std::span<const requested_record> all,
                                 std::span<const range> ranges, std::byte* memory,
                                 std::source_location where);
  [[nodiscard]] task<void> check(std::span<const requested_record> all, std::byte* memory,
                                 std::source_location where);
  [[nodiscard]] task<bool> read_again(const requested_record& w, std::span<std::byte> frame,
                                      std::source_location where);
  [[nodiscard]] task<void> reread_or_throw(const requested_record& w, std::span<std::byte> frame,
                                           std::source_location where);
  [[nodiscard]] bool is_too_large(const requested_record& w) const noexcept;
  [[nodiscard]] detail::record_corruption too_large(const requested_record& w) const;
  [[nodiscard]] detail::record_corruption find_corruption(const requested_record& w,
                                                          byte_view frame) const;
  [[noreturn]] void throw_corruption(const requested_record& w,
                                     const detail::record_corruption& d) const;
  [[noreturn]] void throw_read_error(const requested_record& w, std::int64_t error) const;

  file file_;
  std::shared_ptr<const std::string> path_;
  const tfrecord_index index_;
  const tfrecord_file_options options_;
  reader_statistics statistics_;
  // Of an indexed_reader that closes some of its files for a while; else null.
  std::shared_ptr<detail::open_file_cache> reader_files_;
  std::size_t number_ = 0;  // of those
};

}  // namespace leat
