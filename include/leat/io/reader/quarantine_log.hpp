#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "leat/async/task.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/corruption.hpp"

namespace leat {

/// A file of what readers could not deliver: a line of JSON for each report,
///
///     {"path":"a.tfrecord","offset":37,"record":2,"error":"the checksum ...",
///      "expected":"0x1c291ca3","actual":"0x8a9136aa","skipped":1016,"transient":false}
///
/// on one line; "expected" and "actual" only where a checksum was wrong.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; the readers that share it
///                run there too.
class quarantine_log {
 public:
  /// Opens the log; lines are added behind those that are there. Of a path once at a time: a second
  /// log of it would overwrite the lines of the first; readers share one.
  /// Errors: those of file::open().
  [[nodiscard]] static task<std::shared_ptr<quarantine_log>> open(std::string path);

  explicit quarantine_log(file f);

  /// Adds a report. While another task writes to the log it is written there, and this returns.
  /// Errors: of the system, such as a full disk; the report is kept and written with the next one.
  [[nodiscard]] task<void> add(const corruption_report& report);

  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }
  /// Reports added since it was opened.
  [[nodiscard]] std::uint64_t reports() const noexcept { return reports_; }

 private:
  file file_;
  std::uint64_t end_;  // of what is written
  std::uint64_t reports_ = 0;
  std::string unwritten_;
  bool writing_ = false;
};

}  // namespace leat
