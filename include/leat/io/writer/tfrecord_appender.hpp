#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/detail/exclusive_use.hpp"
#include "leat/base/detail/pimpl.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/file/detail/output_buffer.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/index/detail/sidecar_index.hpp"

namespace leat {

/// How records are appended to a TFRecord file.
struct tfrecord_appender_options {
  /// Bytes collected for one write, at most 1 GiB.
  std::size_t buffer_size = std::size_t{256} << 10;
  /// What is checked of the records that are there; all of the file is read. Without the payloads'
  /// checksums it may contain corrupt records, which the new ones do not affect.
  tfrecord_checks checks = tfrecord_checks::all;
  std::uint64_t max_record_size = std::uint64_t{1} << 30;  ///< bytes; of those that are there
  /// True: the index of the file, of old records and new ones, is made meanwhile and stands beside
  /// it when it is closed, at tfrecord_index_path(), in place of the one that may be there; nothing
  /// is read for it but what open() reads anyway. False: an index that is there is that of the file
  /// as it was, and load_tfrecord_index() refuses it.
  bool index = false;
};

/// Appends records to a TFRecord file that is there: all of them, or none.
///
/// The file must be whole and not compressed. It is written to in place: who reads it meanwhile
/// sees the old records, and of the new ones a part. A note beside it, with ".append" behind its
/// name, says how long it was. close() removes the note when all records are on the device. Dropped
/// without a close the file is cut back to what it was. After a crash the note is still there, and
/// so it is when an event loop was destroyed in the middle of open() or close(): then nothing can
/// be appended before roll_back_append(), which cuts the file back to what it was; its old records
/// have been untouched all the time.
///
/// The note also keeps a second appender away. It does not see those who write otherwise: a
/// tfrecord_writer of the same path replaces the file, and what is appended to it is gone.
///
/// An index, where one is made, is complete and has its name before the note goes; dropped without
/// a close no index of the appender's stays. Whatever happens in between, an index is never taken
/// for that of another file, see load_tfrecord_index(): nor is the one that was there before, when
/// the file was written to, even if it was cut back.
///
///     auto appender = co_await leat::tfrecord_appender::open("log.tfrecord");
///     co_await appender.write(record);
///     co_await appender.close();
///
/// Thread safety: thread-bound to the scheduler on which it was opened;
///                one operation at a time.
/// Cost: open() reads the file once. The destructor without a close waits for the device.
class tfrecord_appender {
 public:
  /// Errors: already_exists for a note: somebody appends, or was interrupted; not_found;
  ///         data_loss for a file that is corrupt or cut off, with the offset; invalid_argument for
  ///         one that is compressed or no regular file, and for an option out of range; others of
  ///         the system.
  [[nodiscard]] static task<tfrecord_appender> open(std::string path,
                                                    tfrecord_appender_options options = {});

  tfrecord_appender(tfrecord_appender&&) noexcept;
  tfrecord_appender& operator=(tfrecord_appender&&) = delete;
  ~tfrecord_appender();

  /// Appends a record. `payload` must live until the write has ended. After an error the record is
  /// kept, and flush() or close() tries again.
  /// Errors: failed_precondition after close(); resource_exhausted for a full disk; of the system.
  [[nodiscard]] task<void> write(byte_view payload);

  /// Hands everything written so far to the operating system: readers see it. It stays only after
  /// a close(). Errors: as write().
  [[nodiscard]] task<void> flush();

  /// Waits until all records are on the device, and removes the note. A second close does nothing.
  /// Errors: as write(); then another close() goes on. Not where the fsync failed, see
  ///         file::sync(): then the destructor makes the file what it was, and the records have to
  ///         be written anew.
  [[nodiscard]] task<void> close();

  /// Records that were there, and bytes of the file.
  [[nodiscard]] std::uint64_t original_record_count() const noexcept {
    return original_record_count_;
  }
  [[nodiscard]] std::uint64_t original_size() const noexcept { return original_size_; }
  [[nodiscard]] std::uint64_t records_written() const noexcept { return records_; }
  /// Bytes appended so far, frames included.
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

/// Undoes an append that was interrupted: the file is again what it was before. True when there
/// was one. Nobody may be appending now.
/// Errors: data_loss when the file is shorter than it was, and for a note that no appender has
///         written; of the system. After an error nothing speaks against another try.
[[nodiscard]] task<bool> roll_back_append(std::string path);

}  // namespace leat
