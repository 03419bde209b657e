#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

class quarantine_log;

/// What a reader does with a record that it cannot deliver: damaged, cut off, or above a limit.
///
/// What resync costs, for each report: time in proportion to the bytes that it looks at, whatever
/// there looks like a record, and memory as for the records that it delivers. Only its end tells
/// that what looks like a record is none: in a plain file it is looked at without being held, with
/// 4 bytes of memory for 256. Of a compressed file or a pipe, and without the payloads' checksums,
/// it is held: up to about two or three times max_record_size.
enum class corruption_policy {
  fail,         ///< the read ends with an error, and each further one with the same
  skip_record,  ///< goes on behind it; fails where it is not known where that is
  resync,       ///< as skip_record; where that is not known, goes on at the next valid record
  skip_file,    ///< leaves out the rest of the file
};

/// What a reader could not deliver, and what it did about it.
struct corruption_report {
  std::string path;
  std::uint64_t offset = 0;  ///< of the record, from the start of the (uncompressed) file
  std::uint64_t index = 0;   ///< records before it in the file
  std::string what;          ///< in words, as in an error
  std::optional<std::uint32_t> expected_crc = {};  ///< checksum in the file, where one was wrong
  std::optional<std::uint32_t> actual_crc = {};    ///< checksum of what is there
  std::uint64_t skipped = 0;                       ///< bytes that were left out
  /// The record was read again and is in order now: the fault was on the way, not in the file.
  bool transient = false;
};

/// How a reader deals with damage.
struct corruption_options {
  corruption_policy policy = corruption_policy::fail;
  /// Reports with which a reader goes on; the next one is an error whatever the policy.
  std::uint64_t max_reports = 1000;
  /// Bytes. Where resync searches a compressed file or a pipe for a TFRecord, what begins there has
  /// to be held to see whether it is one: a header that promises more than this is passed over, and
  /// so is the record if there is one; the search goes on within it, and what is framed there as a
  /// record is taken for one. The report says so. In a plain file nothing is held, and there is no
  /// such limit.
  std::uint64_t max_held = std::uint64_t{16} << 20;
  /// Called for each report, on the reader's scheduler, before the reader goes on. Must not throw.
  std::function<void(const corruption_report&)> on_report = {};
  /// Where each report is written.
  std::shared_ptr<quarantine_log> log = {};
};

namespace detail {

/// The report of a file that cannot be read at all.
[[nodiscard]] corruption_report report_of_file(std::string_view path,
                                               const std::exception_ptr& error);

}  // namespace detail
}  // namespace leat
