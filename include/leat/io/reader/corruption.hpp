#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "leat/base/braced.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

class quarantine_log;

/// A policy for records that a reader cannot deliver: corrupt, truncated, or above a limit. All
/// three are called corrupt below.
///
/// In a TFRecord file, `resync` uses the header of the corrupt record to find the next one:
///
/// - If the checksum of the header is valid, the record ends where the header says, provided that
///   the file ends exactly there or that another header with a valid checksum begins there.
/// - In all other cases the header is not accepted. The next record is then the first one that
///   begins after the first byte of the corrupt record, is intact, and is within max_record_size.
///   If there is none, the file ends.
///
/// So a torn record (partially written by a crash or a copy) does not cause the loss of any record
/// after it. If the payload of a corrupt record contains framed TFRecords, `resync` may deliver
/// these as records of the file.
///
/// Cost: `resync` takes time proportional to the size of the file, plus some system calls of a few
///       bytes for each report. This holds for any number of reports, and for any data that looks
///       like a record.
///
/// The checksum of a payload is computed only after a header with a valid checksum. Each byte is
/// checksummed once for all headers whose declared payload contains it. This includes the records
/// within the declared size of a corrupt record. They are delivered one per batch, and those that
/// are corrupt too are not read a second time.
///
/// The memory is that for the records delivered, plus memory for data that looks like a record,
/// which can be ruled out only at its end. In a plain file (neither compressed nor a pipe), such
/// data is checked without being held, with 4 bytes of memory for each 256 bytes. If the payload
/// checksums are not checked, it is held, up to about two or three times max_record_size. In a
/// compressed file or a pipe, it is held up to corruption_options::max_held.
enum class corruption_policy {
  /// The read fails, and every later read fails with the same error.
  fail,
  /// Skips the record and continues with the next one; fails if the offset of the next one is
  /// unknown.
  skip_record,
  /// Like skip_record, but if the offset of the next record is not known for certain, continues at
  /// the next intact record.
  resync,
  /// Skips the rest of the file.
  skip_file,
};

/// A report of data that a reader could not deliver, and of how the reader handled it.
struct corruption_report {
  /// The path of the file.
  option_string path = {};
  std::uint64_t offset = 0;  ///< of the record, from the start of the uncompressed data
  std::uint64_t index = 0;   ///< number of records before it in the file
  option_string what = {};   ///< a description, as in the message of an error
  std::optional<std::uint32_t> expected_crc = {};  ///< checksum in the file, if one did not match
  std::optional<std::uint32_t> actual_crc = {};    ///< checksum of the data that was read
  std::uint64_t skipped = 0;                       ///< number of bytes skipped
  /// True if a second read found the record intact: the fault was in the transfer, not in the file.
  bool transient = false;
};

/// Options for how a reader handles corruption.
struct corruption_options {
  /// Handling of corruption: `fail`, `skip_record`, `resync` or `skip_file`; see corruption_policy.
  corruption_policy policy = corruption_policy::fail;
  /// Number of reports after which a reader still continues. The next one is an error under every
  /// policy.
  std::uint64_t max_reports = 1000;
  /// The largest record, in bytes, that `resync` holds in memory while it searches a compressed
  /// file or a pipe for a TFRecord. It has to hold data that looks like a record to find out
  /// whether it is a record.
  ///
  /// A header that declares more than this is skipped, and so is its record if there is one. The
  /// search continues within that data and accepts anything there that is framed as a record. The
  /// report mentions this. The same applies to a record above max_record_size whose end has to be
  /// checked.
  ///
  /// The limit does not apply to a plain file; see corruption_policy. Nor does it apply after a
  /// record that is truncated by the end of the file, because then all the rest is held.
  std::uint64_t max_held = std::uint64_t{16} << 20;
  /// Called for each report, on the reader's scheduler, before the reader continues. Must not
  /// throw.
  option_function<void(const corruption_report&)> on_report = {};
  /// The log to which each report is written, if set.
  braced<std::shared_ptr<quarantine_log>> log = {};
};

namespace detail {

/// Calls `add` with the name and the value of each option that determines which records are
/// skipped, for the settings of a reader. Saved states have these names.
template <class Add>
void add_corruption_settings(const corruption_options& o, Add&& add) {
  add("corruption.policy", static_cast<std::uint64_t>(o.policy));
  if (o.policy == corruption_policy::resync) add("corruption.max_held", o.max_held);
}

/// Returns the report for a file that cannot be read at all.
[[nodiscard]] corruption_report make_file_report(std::string_view path,
                                                 const std::exception_ptr& error);

/// Returns the exception for corruption at `position`, such as "record 3", that a reader does not
/// skip.
[[nodiscard]] failure corruption_error(errc reason, const corruption_report& report,
                                       std::string_view position, std::string_view hint);

/// Returns the text for an error at the limit of `reports` reports.
[[nodiscard]] std::string limit_hint(std::uint64_t reports);

/// Returns the text for a possible record at `offset` that is too long to be held.
[[nodiscard]] std::string too_long_hint(std::uint64_t offset);

}  // namespace detail
}  // namespace LEAT
