#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string>

#include "leat/core/task.hpp"
#include "leat/io/detail/read_ahead.hpp"
#include "leat/io/file.hpp"
#include "leat/io/record_batch.hpp"

namespace leat {

/// How a text file is read.
struct line_reader_options {
  std::size_t skip_header_lines = 0;                  ///< lines left out at the beginning
  std::size_t max_line_size = std::size_t{16} << 20;  ///< bytes; a longer line is an error
  read_options read = {};
};

/// Reads a text file line by line.
///
/// A line ends with "\n", one "\r" before it is left out. The last line need not have an end. Empty
/// lines are records; an empty file has none. All bytes are data, NUL included.
///
///     auto reader = co_await leat::line_reader::open("a.txt");
///     leat::line_batch batch;
///     while (co_await reader->read_batch(batch))
///       for (std::string_view line : batch) use(line);
///
/// Thread safety: thread-bound to the scheduler on which it was opened.
/// Source: TextLineReader.
class line_reader {
 public:
  /// Opens a file. Errors: not_found, permission_denied, failed_precondition for a directory,
  /// invalid_argument for an option of 0.
  [[nodiscard]] static task<std::unique_ptr<line_reader>> open(
      std::string path, line_reader_options options = {},
      std::source_location where = std::source_location::current());

  line_reader(file f, const line_reader_options& options);

  /// Replaces the contents of `batch` by the next lines, as many as are there; at least one. False
  /// at the end of the file: the batch is empty then.
  ///
  /// Errors:       of the system, and resource_exhausted for a line that is too long, with path and
  ///               offset; lines before the error are delivered first, and the error repeats.
  /// Cancellation: total: no line is lost, the next call goes on.
  /// Cost:         about 0.3 ns a byte from the page cache; see docs/benchmarks.md.
  [[nodiscard]] task<bool> read_batch(line_batch& batch,
                                      std::source_location where = std::source_location::current());

  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }
  /// Lines delivered so far, and bytes of the file that they and the skipped lines took.
  [[nodiscard]] std::uint64_t lines_read() const noexcept { return index_ - skipped_; }
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return offset_; }

 private:
  [[nodiscard]] bool split(line_batch& batch);
  [[nodiscard]] bool take_last_line(line_batch& batch);
  void publish(line_batch& batch, std::size_t consumed);
  void refuse_long_line(std::size_t size);

  file file_;
  std::shared_ptr<const std::string> path_;
  const line_reader_options options_;
  detail::read_ahead window_;
  std::size_t unread_ = 0;    // bytes at the end of the window that are not delivered
  std::size_t skipped_ = 0;   // header lines
  std::uint64_t index_ = 0;   // of the next line, header lines included
  std::uint64_t offset_ = 0;  // of the next line
  bool ended_ = false;
  std::exception_ptr error_;
};

}  // namespace leat
