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

namespace leat {

class quarantine_log;

/// What a reader does with a record that it cannot deliver: corrupt, cut off, or above a limit.
///
/// Where resync goes on in a TFRecord file. A record that is not whole and right, with a header
/// whose checksum is right, ends where the header says if the file ends just there, or if another
/// header with a right checksum stands there. Else the header is not believed, and neither is one
/// whose own checksum is wrong: the next record is the first that begins behind the first byte of
/// the corrupt one, is whole and right, and within max_record_size; where there is none, the file
/// ends. So a record that was torn, by a crash or a copy, takes none of those behind it with it. A
/// record that has others in its payload, framed as such, may give these when it is corrupt itself.
///
/// What resync costs: time in proportion to the file, and for each report some system calls of a
/// few bytes, however many reports there are and whatever looks like a record; memory as for the
/// records that it delivers. A payload's checksum is computed only behind a header whose own is
/// right, and each byte is gone through once for all that promise it: also for the records that
/// stand within what a corrupt one promised to be, which come one in a batch, and of which those
/// that are corrupt too are not read a second time. Only its end tells that what looks like a
/// record is none: in a plain file it is looked at without being held, with 4 bytes of memory for
/// 256, and without the payloads' checksums held, up to about two or three times max_record_size.
/// Of a compressed file or a pipe it is held up to corruption_options::max_held.
enum class corruption_policy {
  fail,         ///< the read ends with an error, and each further one with the same
  skip_record,  ///< goes on behind it; fails where it is not known where that is
  resync,       ///< as skip_record; where that is not known for sure, on at the next whole one
  skip_file,    ///< leaves out the rest of the file
};

/// What a reader could not deliver, and what it did about it.
struct corruption_report {
  braced<std::string> path = {};
  std::uint64_t offset = 0;       ///< of the record, from the start of the (uncompressed) file
  std::uint64_t index = 0;        ///< records before it in the file
  braced<std::string> what = {};  ///< in words, as in an error
  std::optional<std::uint32_t> expected_crc = {};  ///< checksum in the file, where one was wrong
  std::optional<std::uint32_t> actual_crc = {};    ///< checksum of what is there
  std::uint64_t skipped = 0;                       ///< bytes that were left out
  /// The record was read again and is in order now: the fault was on the way, not in the file.
  bool transient = false;
};

/// How a reader deals with corruption.
struct corruption_options {
  corruption_policy policy = corruption_policy::fail;
  /// Reports with which a reader goes on; the next one is an error whatever the policy.
  std::uint64_t max_reports = 1000;
  /// Bytes. Where resync searches a compressed file or a pipe for a TFRecord, what begins there has
  /// to be held to see whether it is one: a header that promises more than this is passed over, and
  /// so is the record if there is one; the search goes on within it, and what is framed there as a
  /// record is taken for one. The report says so. The same goes for the end of a record above
  /// max_record_size. In a plain file nothing is held, and there is no such limit; nor is there
  /// behind a record that is cut off by the end of the file, for which all of the rest is held.
  std::uint64_t max_held = std::uint64_t{16} << 20;
  /// Called for each report, on the reader's scheduler, before the reader goes on. Must not throw.
  braced<std::function<void(const corruption_report&)>> on_report = {};
  /// Where each report is written.
  braced<std::shared_ptr<quarantine_log>> log = {};
};

namespace detail {

/// The report of a file that cannot be read at all.
[[nodiscard]] corruption_report make_file_report(std::string_view path,
                                                 const std::exception_ptr& error);

/// The exception for corruption at `position`, such as "record 3", that a reader does not skip.
[[nodiscard]] failure corruption_error(errc reason, const corruption_report& report,
                                       std::string_view position, std::string_view hint);

/// The text for an error at the limit of `reports` reports.
[[nodiscard]] std::string limit_hint(std::uint64_t reports);

/// The text for a possible record at `offset` that is too long to be held.
[[nodiscard]] std::string too_long_hint(std::uint64_t offset);

}  // namespace detail
}  // namespace leat
