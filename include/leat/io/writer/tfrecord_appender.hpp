#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/file/detail/output_buffer.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/index/detail/sidecar_index.hpp"

namespace LEAT {

/// Options of a tfrecord_appender.
struct tfrecord_appender_options {
  /// Number of bytes to collect for one write, at most 1 GiB.
  std::size_t buffer_size = std::size_t{256} << 10;
  /// Checks of the existing records; open() reads the whole file. If the checksums of the payloads
  /// are not checked, the file may contain corrupt records, which the append leaves as they are.
  tfrecord_checks checks = tfrecord_checks::all;
  std::uint64_t max_record_size = std::uint64_t{1} << 30;  ///< limit for existing records, in bytes
  /// If true, the appender also builds the index of the file, for old and new records. close()
  /// saves it at tfrecord_index_path() and replaces an existing index. The records are not read a
  /// second time for it. If false, an existing index becomes outdated, and load_tfrecord_index()
  /// rejects it.
  bool index = false;
};

/// An appender for an existing TFRecord file. It appends all records or none.
///
///     auto appender = co_await leat::tfrecord_appender::open("log.tfrecord");
///     co_await appender.write(record);
///     co_await appender.close();
///
/// The file must be intact and uncompressed. It is written in place: a concurrent reader sees the
/// old records and some of the new ones.
///
/// A note next to the file stores the original size. Its name is the path of the file followed by
/// ".append". close() removes the note when all records are on the device. If the appender is
/// destroyed without close(), it truncates the file to the original size.
///
/// The note remains after a crash, or if the event loop is destroyed during open() or close(). Then
/// call roll_back_append() before you append again. It truncates the file to the original size. The
/// old records never change.
///
/// The note also keeps out a second appender, but not other writers. A tfrecord_writer of the same
/// path replaces the file, and the appended records are lost.
///
/// With the option `index`, the index is complete and has its name before the note is removed. If
/// the appender is destroyed without close(), its index does not remain. An index is never mistaken
/// for the index of another file; see load_tfrecord_index(). This includes the index that existed
/// before. After the file was written to, that index is rejected, even if the file was truncated
/// again.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; one operation at a time.
/// Cost:          open() reads the file once. Without close(), the destructor waits for the device.
class tfrecord_appender {
 public:
  /// Opens an existing file for appending.
  ///
  /// Errors: already_exists if there is a note, because another appender is active or was
  ///         interrupted; not_found if the file does not exist; data_loss for a corrupt or
  ///         truncated file, with the offset. Also invalid_argument for a file that is compressed
  ///         or not regular, and for an option out of range; aborted if another program writes to
  ///         the file; other system errors.
  [[nodiscard]] static task<tfrecord_appender> open(std::string path,
                                                    tfrecord_appender_options options = {});

  tfrecord_appender(tfrecord_appender&&) noexcept;
  tfrecord_appender& operator=(tfrecord_appender&&) = delete;
  ~tfrecord_appender();

  /// Appends a record. `payload` must live until the write completes. After an error, the record is
  /// kept, and flush() or close() tries again.
  /// Errors: failed_precondition after close(); resource_exhausted if the disk is full; system
  ///         errors.
  [[nodiscard]] task<void> write(byte_view payload);

  /// Passes everything written so far to the operating system, so that readers see it. The records
  /// stay in the file only after a close().
  /// Errors: those of write().
  [[nodiscard]] task<void> flush();

  /// Waits until all records are on the device, and removes the note. A second close() does
  /// nothing.
  /// Errors: those of write(); another close() then continues. After a failed fsync, see
  ///         file::sync(), it cannot continue: the destructor restores the file, and the records
  ///         must be written again.
  [[nodiscard]] task<void> close();

  /// Returns the number of records that were in the file when it was opened.
  [[nodiscard]] std::uint64_t original_record_count() const noexcept {
    return original_record_count_;
  }
  /// Returns the size in bytes that the file had when it was opened.
  [[nodiscard]] std::uint64_t original_size() const noexcept { return original_size_; }
  /// Returns the number of records appended so far.
  [[nodiscard]] std::uint64_t records_written() const noexcept { return records_; }
  /// Returns the number of bytes appended so far, including frames.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return output_.bytes_in(); }

 private:
  class note;

  tfrecord_appender(std::unique_ptr<note> n, file f, std::uint64_t original_record_count,
                    std::optional<detail::sidecar_index> index,
                    const tfrecord_appender_options& options);
  [[nodiscard]] task<void> commit_index();

  detail::exclusive_use in_use_;
  detail::pimpl<note> note_;
  file file_;
  detail::output_buffer output_;
  std::optional<detail::sidecar_index> index_;
  std::uint64_t original_record_count_;
  std::uint64_t original_size_;
  std::uint64_t records_ = 0;
  bool closing_ = false;
  bool closed_ = false;
};

/// Undoes an interrupted append: restores the file as it was before. Returns true, or false if
/// there was no interrupted append. Do not call it while an appender uses the file.
/// Errors: data_loss if the file is shorter than before the append, or for a note that no appender
///         has written; system errors. After an error, you can call it again.
[[nodiscard]] task<bool> roll_back_append(std::string path);

}  // namespace LEAT
