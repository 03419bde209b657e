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

namespace LEAT {

namespace detail {
struct record_corruption;
struct file_range;
struct record_frame;
class open_file_cache;
}  // namespace detail

/// Options of a tfrecord_file.
struct tfrecord_file_options {
  /// The checksums to verify: `all`, `header_only` or `none`.
  tfrecord_checks checks = tfrecord_checks::all;
  std::uint64_t max_record_size = std::uint64_t{1} << 30;  ///< bytes; a larger record is an error
  /// Maximum number of concurrent reads if the data is not in the page cache, 1 to 1024.
  std::size_t depth = 128;
  /// Maximum gap between two records that are read together, in bytes. The gap is read, too.
  std::size_t max_gap = 4096;
  /// Limit for all records of one read(), including the gaps between them, in bytes. A larger read
  /// fails before it allocates memory. Only max_record_size applies to a single record.
  std::uint64_t max_selection_size = std::uint64_t{1} << 30;
};

/// A TFRecord file whose records can be read in any order.
///
///     auto file = co_await leat::tfrecord_file::open("a.tfrecord");
///     leat::owned_record last = co_await file->at(file->size() - 1);
///
///     leat::record_selection selection;  // used again and again
///     co_await file->read(indices, selection);
///     for (leat::byte_view record : selection) use(record);
///
/// The file needs an index. open() loads the index next to the file or builds one; see
/// load_or_build_tfrecord_index(). A compressed file cannot have an index. The object keeps the
/// index in memory, but none of the records.
///
/// Each record is checked against the index and its checksums. If it does not match, it is read
/// once more, because the error may be transient.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; any number of concurrent
///                reads.
class tfrecord_file {
 public:
  /// Opens a file with the index that is stored next to it; builds the index if it is missing.
  ///
  /// Errors: those of file::open() and load_or_build_tfrecord_index(); invalid_argument for an
  ///         option out of range.
  [[nodiscard]] static task<std::unique_ptr<tfrecord_file>> open(
      std::string path, tfrecord_file_options options = {},
      std::source_location where = std::source_location::current());

  /// Opens a file with an index that the caller provides.
  ///
  /// Errors: failed_precondition if it is not the index of the file; those of file::open();
  ///         invalid_argument for an option out of range.
  [[nodiscard]] static task<std::unique_ptr<tfrecord_file>> open(
      std::string path, tfrecord_index index, tfrecord_file_options options = {},
      std::source_location where = std::source_location::current());

  /// Creates a tfrecord_file from an open file and the index of that file.
  ///
  /// Errors: failed_precondition if the file is not open; invalid_argument for an option out of
  ///         range.
  tfrecord_file(file f, tfrecord_index index, const tfrecord_file_options& options);
  tfrecord_file(const tfrecord_file&) = delete;
  tfrecord_file& operator=(const tfrecord_file&) = delete;

  /// Returns the number of records.
  [[nodiscard]] std::uint64_t size() const noexcept { return index_.size(); }

  /// Returns the index, which contains the offset and the size of each record.
  [[nodiscard]] const tfrecord_index& index() const noexcept { return index_; }
  /// Returns the path of the file.
  [[nodiscard]] const std::string& path() const noexcept { return *path_; }

  /// Reads record `i`.
  ///
  /// Errors:       out_of_range if it does not exist; data_loss if it is corrupt, with path,
  ///               record, offset and checksums; resource_exhausted if it is above the limit;
  ///               failed_precondition if its size differs from the index; system errors. Errors
  ///               are not cached. Each call reads the file again, so a system error such as EIO
  ///               recurs only if its cause lasts.
  /// Cancellation: before the read starts; nothing is lost.
  /// Cost:         one read.
  [[nodiscard]] task<owned_record> at(std::uint64_t i,
                                      std::source_location where = std::source_location::current());

  /// Replaces the contents of `selection` with the records of these indices, in this order. An
  /// index may occur twice. Reads in the order of the file, up to `depth` ranges concurrently;
  /// neighbours share a read.
  ///
  /// Errors:       those of at(), for one of the records; resource_exhausted if all records
  ///               together exceed max_selection_size; invalid_argument if they exceed the address
  ///               space. After an error, the selection is empty.
  /// Cancellation: starts no further read and awaits those in flight; the selection is then empty.
  /// Cost:         memory for the records, for the gaps between neighbours, and 130 bytes per
  ///               record.
  [[nodiscard]] task<void> read(std::span<const std::uint64_t> indices, record_selection& selection,
                                std::source_location where = std::source_location::current());

  /// Like read(), for the `count` records that begin with record `first`.
  [[nodiscard]] task<void> read_range(std::uint64_t first, std::uint64_t count,
                                      record_selection& selection,
                                      std::source_location where = std::source_location::current());

  /// Returns how many records were delivered so far, and how many of them were corrupt only on the
  /// first read.
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

}  // namespace LEAT
