#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/codec/compression/deflater.hpp"
#include "leat/io/file/detail/output_buffer.hpp"
#include "leat/io/file/internal/atomic_file.hpp"
#include "leat/io/index/detail/sidecar_index.hpp"

namespace LEAT {

/// Options of a tfrecord_writer.
struct tfrecord_writer_options {
  /// Number of bytes of records to collect for one write or for the compressor, at most 1 GiB.
  std::size_t buffer_size = std::size_t{256} << 10;
  /// Compression of the file: one stream that contains all records with their frames.
  leat::compression compression = leat::compression::none;
  deflate_options deflate = {};  ///< of a compressed file
  /// How flush() flushes the compressor. With `none`, the compressor holds back data that it can
  /// compress better together with later data. `finish` is not allowed.
  deflate_flush flush_mode = deflate_flush::sync;
  /// Number of compressed bytes to collect for one write, 16 bytes to 1 GiB.
  std::size_t output_buffer_size = std::size_t{256} << 10;
  /// If true, the writer also builds the index of the file, and close() saves it at
  /// tfrecord_index_path(). Not allowed with compression, because the records of a compressed file
  /// have no offsets.
  bool index = false;
};

/// A writer of a TFRecord file, which appears under its name only when it is complete.
///
///     auto writer = co_await leat::tfrecord_writer::open("a.tfrecord");
///     co_await writer.write(leat::as_bytes("hello"));
///     co_await writer.close();
///
/// The records are written to a new partial file. Its name is the path followed by ".partial", or
/// by ".partial1" and so on if that file exists. close() waits until the records are on the device
/// and then renames the file. If several writers use one path, the file of the last one to close
/// remains, complete.
///
/// If the writer is destroyed without close(), it removes the partial file and does not touch an
/// existing file at the path. The partial file can remain after a crash, or if the event loop is
/// destroyed during open() or close().
///
/// If the path is a symbolic link, the file replaces the link, as with rename(2). The target of the
/// link does not change.
///
/// With the option `index`, the index is complete and has its name before the file has. If the file
/// is not completed, the index is removed, too. An index is never mistaken for the index of another
/// file; see load_tfrecord_index().
///
/// No record is lost after an error: the records are kept, and flush() or close() tries again,
/// unless the fsync failed. After a call of close(), only close() may be called.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; one operation at a time.
/// Cost:          compresses on the scheduler's thread, in steps of 256 KiB of records; with zlib's
///                default level, each step takes about 5 ms.
/// TensorFlow:    TFRecordWriter. Differs from TensorFlow: there, the file exists from the
///                beginning, and the destructor completes it, so the file of a failed program looks
///                like a complete one.
class tfrecord_writer {
 public:
  /// Creates the partial file.
  /// Errors: permission_denied; not_found for a missing directory; other system errors. Also
  ///         invalid_argument for an option out of range, and if the path names a directory, a
  ///         device or a pipe, or a link to one.
  [[nodiscard]] static task<tfrecord_writer> open(std::string path,
                                                  tfrecord_writer_options options = {});

  tfrecord_writer(tfrecord_writer&&) noexcept = default;
  tfrecord_writer& operator=(tfrecord_writer&&) = delete;

  /// Appends a record. `payload` must live until the write completes.
  /// Errors: failed_precondition after close(); resource_exhausted if the disk is full; system
  ///         errors.
  [[nodiscard]] task<void> write(byte_view payload);

  /// Passes everything written so far to the operating system, as `flush_mode` determines.
  /// Errors: those of write().
  [[nodiscard]] task<void> flush();

  /// Completes the file: flush, fsync, rename, fsync of the directory. A second close() does
  /// nothing.
  /// Errors: those of write(). The file may not have its name yet, and another close() continues.
  ///         After a failed fsync, see file::sync(), it cannot continue, and the records must be
  ///         written again.
  [[nodiscard]] task<void> close();

  /// Returns the number of records so far.
  [[nodiscard]] std::uint64_t records_written() const noexcept { return records_; }
  /// Returns the size of the records so far in bytes, including their frames, before compression.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return output_.bytes_in(); }
  /// Returns the size of the file so far in bytes. For a compressed file, it includes what the
  /// compressor has produced so far.
  [[nodiscard]] std::uint64_t file_size() const noexcept { return output_.file_size(); }

 private:
  tfrecord_writer(detail::atomic_file f, detail::output_buffer output, std::string path,
                  const tfrecord_writer_options& options);
  [[nodiscard]] task<void> commit();

  detail::exclusive_use in_use_;
  detail::atomic_file file_;
  detail::output_buffer output_;
  std::string path_;
  deflate_flush flush_mode_;
  std::optional<detail::sidecar_index> index_;
  std::uint64_t records_ = 0;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace LEAT
