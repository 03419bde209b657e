#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// Returns the path by which readers, pipelines and file::open() read from an open descriptor of
/// the process, such as "/dev/fd/3". "/dev/stdin" is another name of "/dev/fd/0".
///
///     auto reader = co_await leat::line_reader::open(leat::descriptor_path(STDIN_FILENO));
///
/// The kernel would open the path as a new file: from its beginning, with the permissions of the
/// user, and no socket. leat reads through the descriptor instead:
///
/// - Ownership: file::open() duplicates the descriptor and closes only the duplicate. The caller
///   may close the descriptor once a file or a reader is open.
/// - Offset: reads continue at the current offset and move it, for all processes that share it. A
///   reader reads ahead, so it moves the offset beyond the records that it has delivered.
/// - Positions: the offsets of records and messages count from the first byte that was read.
/// - Kind: the file is a stream, even if the descriptor is a regular file. It can be read once, in
///   order. Random access, indexes, more than one epoch and saved pipelines are refused, and so is
///   the path if read_options::regular_only is set.
/// - Flags: O_NONBLOCK may be set or not; it does not change.
///
/// To open the file from its beginning, use "/proc/self/fd/3". A simulated world has no
/// descriptors: the paths are simulated files there; see sim::file_system::make_pipe().
///
/// Precondition: `descriptor` is not negative.
/// Errors:       file::open() fails with EBADF if the descriptor is not a file open for reading.
/// Cancellation: a stop ends a read that waits for data. On a terminal or device, which the kernel
///               cannot read without waiting, another process may take the data between the wait
///               and the read; that read then ends with the next data.
[[nodiscard]] std::string descriptor_path(int descriptor);

namespace detail {

/// Returns the number of the descriptor that a path names, or nothing for other paths.
[[nodiscard]] std::optional<int> descriptor_of_path(std::string_view path) noexcept;

}  // namespace detail
}  // namespace LEAT
