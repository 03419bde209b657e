#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "leat/async/task.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/corruption.hpp"

namespace LEAT {

/// A log file of the data that readers could not deliver, with a line of JSON for each report:
///
///     {"path":"a.tfrecord","offset":37,"record":2,"error":"the checksum ...",
///      "expected":"0x1c291ca3","actual":"0x8a9136aa","skipped":1016,"transient":false}
///
/// A report takes exactly one line. "expected" and "actual" are present only if a checksum did not
/// match.
///
/// Thread safety: thread-bound to the scheduler on which it was opened; the readers that share
///                it run there too.
class quarantine_log {
 public:
  /// Opens the log and appends to the lines that it has. Open each path only once at a time, and
  /// share the log between readers: a second log of the same path would overwrite the lines of the
  /// first.
  /// Errors: those of file::open().
  [[nodiscard]] static task<std::shared_ptr<quarantine_log>> open(std::string path);

  explicit quarantine_log(file f);

  /// Adds a report. If another task is writing to the log, that task writes this report too, and
  /// add() returns without waiting for it.
  /// Errors: system errors, such as a full disk; the report is kept and written with the next one.
  [[nodiscard]] task<void> add(const corruption_report& report);

  /// Returns the path of the log.
  [[nodiscard]] const std::string& path() const noexcept { return file_.path(); }
  /// Returns the number of reports added since the log was opened.
  [[nodiscard]] std::uint64_t reports() const noexcept { return reports_; }

 private:
  file file_;
  std::uint64_t end_;  // of what is written
  std::uint64_t reports_ = 0;
  std::string unwritten_;
  bool writing_ = false;
};

}  // namespace LEAT
