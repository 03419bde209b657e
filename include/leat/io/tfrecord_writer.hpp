#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "leat/codec/bytes.hpp"
#include "leat/core/task.hpp"
#include "leat/io/detail/one_at_a_time.hpp"
#include "leat/io/file.hpp"

namespace leat {

/// How a TFRecord file is written.
struct tfrecord_writer_options {
  /// Bytes collected for one write, at most 1 GiB.
  std::size_t buffer_size = std::size_t{256} << 10;
};

/// Writes a TFRecord file that appears under its name only when it is complete.
///
/// The records go to a new file with ".partial" behind the name (".partial1", ... if there is one
/// already); close() makes sure that they are on the device and then renames it. Without a close
/// the partial file is removed and what had the name before is untouched. Of several writers of one
/// path the last to close wins, whole.
///
/// After an error nothing is lost: the records are kept, and flush() or close() tries again.
///
///     auto writer = co_await leat::tfrecord_writer::open("a.tfrecord");
///     co_await writer.write(leat::as_bytes("hello"));
///     co_await writer.close();
///
/// Thread safety: thread-bound to the scheduler on which it was opened;
///                one operation at a time.
/// Source: TensorFlow's TFRecordWriter.
class tfrecord_writer {
 public:
  /// Errors: permission_denied, not_found for a missing directory, ...; invalid_argument for an
  ///         option out of range.
  [[nodiscard]] static task<tfrecord_writer> open(std::string path,
                                                  tfrecord_writer_options options = {});

  tfrecord_writer(tfrecord_writer&&) noexcept = default;
  tfrecord_writer& operator=(tfrecord_writer&&) = delete;
  ~tfrecord_writer();

  /// Appends a record. `payload` must live until the write has ended.
  /// Errors: failed_precondition after close(); resource_exhausted for a full disk; of the system.
  [[nodiscard]] task<void> write(byte_view payload);

  /// Hands everything written so far to the operating system. Errors: as write().
  [[nodiscard]] task<void> flush();

  /// Finishes the file: flush, fsync, rename, fsync of the directory. A second close does nothing.
  /// Errors: as write(); then the file has not got its name yet.
  [[nodiscard]] task<void> close();

  [[nodiscard]] std::uint64_t records_written() const noexcept { return records_; }
  /// Bytes of the file so far, frames included.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return offset_ + buffer_.size(); }

 private:
  [[nodiscard]] task<void> flush_buffer();

  tfrecord_writer(file f, std::string path, const tfrecord_writer_options& options);

  detail::one_at_a_time in_use_;
  file file_;
  std::string path_;
  tfrecord_writer_options options_;
  std::vector<std::byte> buffer_;
  std::uint64_t offset_ = 0;  // bytes handed to the system
  std::uint64_t records_ = 0;
};

}  // namespace leat
