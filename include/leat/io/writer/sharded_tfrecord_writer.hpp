#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/io/file/detail/output_buffer.hpp"
#include "leat/io/file/internal/atomic_file.hpp"
#include "leat/io/index/detail/sidecar_index.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"

namespace LEAT {

/// Options of a sharded_tfrecord_writer. If no limit and no `shard_count` is set, there is one
/// file.
struct sharded_tfrecord_writer_options {
  /// Maximum number of records per file.
  std::uint64_t max_records = UINT64_MAX;
  /// Maximum size of a file in bytes. An uncompressed file is larger only if its single record is
  /// larger. A compressed file ends when it has reached the limit; because of the buffers, it may
  /// be a little larger.
  std::uint64_t max_bytes = UINT64_MAX;
  /// Number of files, at most 10,000; not allowed together with a limit. Records are distributed to
  /// the files in rotation. All files are open at the same time, each with its buffers. 0: the
  /// limits determine the number of files.
  std::size_t shard_count = 0;
  /// Suffix of the file names.
  option_string suffix = ".tfrecord";
  /// Options of each file. If `index` is set in them, each file has an index next to it.
  tfrecord_writer_options file = {};
};

/// Returns the name of one file of a set, such as "data-00003-of-00010.tfrecord". Each number has
/// at least five digits. Sorting the files by name sorts them by number.
/// Reference: TensorFlow Datasets, Beam, and most other programs that write TFRecord files.
[[nodiscard]] std::string shard_path(std::string_view prefix, std::size_t index, std::size_t count,
                                     std::string_view suffix);

/// A writer of a set of TFRecord files, which appear under their names when all of them are
/// complete.
///
///     leat::sharded_tfrecord_writer_options options;
///     options.max_records = 10'000;
///     auto writer = co_await leat::sharded_tfrecord_writer::open("data/train", options);
///     co_await writer.write(record);
///     co_await writer.close();  // data/train-00000-of-00042.tfrecord, ...
///
/// Each name contains the number of files, which is known only at the end. close() therefore syncs
/// all files to disk first and then renames each file atomically. If a file cannot be renamed, the
/// others lose their names again. Only a crash between the first and the last rename leaves an
/// incomplete set. Its files are complete, and their names show that some are missing.
///
/// An existing file with one of the names is replaced, and its contents are lost even if a later
/// rename fails. A set of another size is not touched. To replace a set atomically, write the new
/// one under a different prefix, such as another directory.
///
/// If the writer is destroyed without close(), it removes its files. If the event loop is destroyed
/// during write() or close(), the same files remain as after a crash: ".partial" files, or an
/// incomplete set.
///
/// No record is lost after an error: write() keeps the record even if the file cannot be written,
/// and flush() or close() tries again. If the fsync of a file failed, each close() fails; see
/// file::sync(). Then write all records again.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; one operation at a time.
/// Cost:          that of tfrecord_writer; a sync of the device for each file.
class sharded_tfrecord_writer {
 public:
  /// Creates the first file or, with `shard_count`, all files. If no record is written, close()
  /// keeps them as empty files.
  /// Errors: permission_denied; not_found for a missing directory; other system errors. Also
  ///         invalid_argument for an option out of range.
  [[nodiscard]] static task<sharded_tfrecord_writer> open(std::string prefix,
                                                          sharded_tfrecord_writer_options options);

  sharded_tfrecord_writer(sharded_tfrecord_writer&&) noexcept = default;
  sharded_tfrecord_writer& operator=(sharded_tfrecord_writer&&) = delete;

  /// Appends a record to the current file or, with `shard_count`, to the next one in rotation.
  /// `payload` must live until the write completes.
  /// Errors: failed_precondition after close(); resource_exhausted if the disk is full; system
  ///         errors.
  [[nodiscard]] task<void> write(byte_view payload);

  /// Passes everything written so far to the operating system.
  /// Errors: those of write().
  [[nodiscard]] task<void> flush();

  /// Completes the files and renames them. A second close() does nothing.
  /// Errors: those of write(). No file has its name then, and another close() continues. If a
  ///         rename fails, older files that the renames before it have replaced are lost. If only
  ///         the sync of the directory fails, all files have their names.
  [[nodiscard]] task<void> close();

  /// Returns the number of records so far.
  [[nodiscard]] std::uint64_t records_written() const noexcept { return records_; }
  /// Returns the size of the records so far in bytes, including their frames, before compression.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_; }
  /// Returns the number of files so far.
  [[nodiscard]] std::size_t shard_count() const noexcept { return shards_.size(); }
  /// Returns the names of the files, in order. The files have these names after close() has
  /// succeeded.
  [[nodiscard]] std::vector<std::string> paths() const;

 private:
  struct shard {
    std::optional<detail::atomic_file> file;      // from the first write on
    std::optional<detail::output_buffer> output;  // until it is finished
    std::optional<detail::sidecar_index> index;
    std::uint64_t records = 0;
  };

  sharded_tfrecord_writer(std::string prefix, sharded_tfrecord_writer_options options);

  // Returns true if records go to a fixed number of shards in turn, or false if each shard is
  // finished before the next one begins.
  [[nodiscard]] bool is_round_robin() const noexcept { return options_.shard_count > 0; }
  [[nodiscard]] bool is_full(const shard& s, std::size_t payload_size) const noexcept;
  [[nodiscard]] std::size_t choose_shard(std::size_t payload_size);
  void add_shard();
  [[nodiscard]] task<void> create_file(std::size_t index);
  [[nodiscard]] task<void> drain(std::size_t index, deflate_flush flush);
  [[nodiscard]] task<void> finish_before(std::size_t end);
  [[nodiscard]] task<void> commit_all(const std::vector<std::string>& names);
  [[nodiscard]] task<void> commit();

  detail::exclusive_use in_use_;
  std::string prefix_;
  sharded_tfrecord_writer_options options_;
  std::vector<shard> shards_;
  std::size_t finished_ = 0;  // so many of the first shards
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace LEAT
