#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/detail/exclusive_use.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/codec/compression/deflater.hpp"
#include "leat/io/file/detail/atomic_file.hpp"
#include "leat/io/file/detail/output_buffer.hpp"
#include "leat/io/index/detail/sidecar_index.hpp"

namespace leat {

/// How a TFRecord file is written.
struct tfrecord_writer_options {
  /// Bytes of records collected for one write, or for the compressor; at most 1 GiB.
  std::size_t buffer_size = std::size_t{256} << 10;
  /// All of the file is one stream, around the records.
  compression compression_type = compression::none;
  deflate_options deflate = {};
  /// What flush() brings out of the compressor: with `none` it keeps back what compresses better
  /// together with more. Not `finish`.
  deflate_flush flush_mode = deflate_flush::sync;
  /// Compressed bytes collected for one write; 16 bytes to 1 GiB.
  std::size_t output_buffer_size = std::size_t{256} << 10;
  /// True: the index of the file is made while it is written, and stands beside it when it is
  /// closed, at tfrecord_index_path(). Not of a compressed file: its records have no offsets.
  bool index = false;
};

/// Writes a TFRecord file that appears under its name only when it is complete.
///
/// The records go to a new file with ".partial" behind the name (".partial1", ... if there is one
/// already); close() makes sure that they are on the device and then renames it. Without a close
/// the partial file is removed and what had the name before is untouched; a crash may leave it
/// there, and so may an event loop that is destroyed in the middle of open() or close(). Of several
/// writers of one path the last to close wins, whole. A symbolic link of that name is replaced by
/// the file, as by rename(2), wherever it leads: what it leads to stays as it is.
///
/// An index, where one is made, is complete and has its name before the file has. When the file
/// does not come about the index goes too; whatever happens in between, an index is never taken for
/// that of another file, see load_tfrecord_index().
///
/// After an error nothing is lost: the records are kept, and flush() or close() tries again, unless
/// it was the fsync that failed. Once close() was called only close() may be.
///
///     auto writer = co_await leat::tfrecord_writer::open("a.tfrecord");
///     co_await writer.write(leat::as_bytes("hello"));
///     co_await writer.close();
///
/// Thread safety: thread-bound to the scheduler on which it was opened;
///                one operation at a time.
/// Cost: compresses on the scheduler's thread, in steps of 256 KiB of records; with zlib's default
///       level that is about 5 ms each.
/// TensorFlow: TFRecordWriter; whose file is there from the beginning on, and finished by
///         the destructor: so the file of a program that failed looks like one that did not.
class tfrecord_writer {
 public:
  /// Errors: permission_denied, not_found for a missing directory, ...; invalid_argument for an
  ///         option out of range, and where a directory, a device or a pipe has the name, or a link
  ///         leads to one.
  [[nodiscard]] static task<tfrecord_writer> open(std::string path,
                                                  tfrecord_writer_options options = {});

  tfrecord_writer(tfrecord_writer&&) noexcept = default;
  tfrecord_writer& operator=(tfrecord_writer&&) = delete;

  /// Appends a record. `payload` must live until the write has ended.
  /// Errors: failed_precondition after close(); resource_exhausted for a full disk; of the system.
  [[nodiscard]] task<void> write(byte_view payload);

  /// Hands everything written so far to the operating system, as `flush_mode` says. Errors: as
  /// write().
  [[nodiscard]] task<void> flush();

  /// Finishes the file: flush, fsync, rename, fsync of the directory. A second close does nothing.
  /// Errors: as write(); then the file may not have its name yet, and another close() goes on. Not
  ///         where the fsync failed: see file::sync(). Then the records have to be written anew.
  [[nodiscard]] task<void> close();

  [[nodiscard]] std::uint64_t records_written() const noexcept { return records_; }
  /// Bytes of the records so far, frames included, before compression.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return output_.bytes_in(); }
  /// Bytes of the file so far: compressed, as far as the compressor has brought them out.
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

}  // namespace leat
