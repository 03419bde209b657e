#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string>

#include "leat/codec/tfrecord.hpp"
#include "leat/core/task.hpp"
#include "leat/io/detail/read_ahead.hpp"
#include "leat/io/file.hpp"
#include "leat/io/record_batch.hpp"

namespace leat {

/// How a TFRecord file is read.
struct tfrecord_reader_options {
  tfrecord_checks checks = tfrecord_checks::all;
  std::uint64_t max_record_size = std::uint64_t{1} << 30;  ///< bytes; a larger record is an error
  /// True: a record cut off by the end of the file is left out, as if the file ended before it.
  bool tolerate_truncated_tail = false;
  read_options read = {};
};

/// Reads a TFRecord file.
///
///     auto reader = co_await leat::tfrecord_reader::open("a.tfrecord");
///     leat::record_batch batch;
///     while (co_await reader->read_batch(batch))
///       for (leat::byte_view record : batch) use(record);
///
/// Thread safety: thread-bound to the scheduler on which it was opened.
/// Source: TFRecordReader; without its defects: a cut-off header is an error, and no length that
/// was read decides an allocation before it was checked against what the file holds.
class tfrecord_reader {
 public:
  /// Opens a file. Errors: not_found, permission_denied, failed_precondition for a directory.
  [[nodiscard]] static task<std::unique_ptr<tfrecord_reader>> open(
      std::string path, tfrecord_reader_options options = {},
      std::source_location where = std::source_location::current());

  tfrecord_reader(file f, const tfrecord_reader_options& options);

  /// Replaces the contents of `batch` by the next records, as many as are there; at least one.
  /// False at the end of the file: the batch is empty then.
  ///
  /// Errors:       data_loss for a damaged or cut-off record, with path, record, offset and
  ///               checksums; resource_exhausted for one above the limit; of the system. Records
  ///               before the error are delivered first, and the error repeats.
  /// Cancellation: total: no record is lost, the next call goes on.
  [[nodiscard]] task<bool> read_batch(record_batch& batch,
                                      std::source_location where = std::source_location::current());

  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }
  /// Records delivered so far, and bytes of the file that they took.
  [[nodiscard]] std::uint64_t records_read() const noexcept { return index_; }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return offset_; }

 private:
  [[nodiscard]] bool scan(record_batch& batch);
  void check_tail();
  void refuse(const tfrecord_scan& scan);
  [[nodiscard]] std::string place() const;

  file file_;
  std::shared_ptr<const std::string> path_;
  const tfrecord_reader_options options_;
  detail::read_ahead window_;
  std::size_t unread_ = 0;    // bytes at the end of the window that are not delivered
  std::uint64_t index_ = 0;   // of the next record
  std::uint64_t offset_ = 0;  // of the next record
  std::uint64_t needed_ = 0;  // bytes of the record that is cut off by the window
  bool ended_ = false;
  std::exception_ptr error_;
};

}  // namespace leat
