#pragma once

#include <cstddef>

namespace leat {

/// How a reader fetches its file.
struct read_options {
  /// Bytes asked for at a time, at most 1 GiB; never more than the file has.
  std::size_t chunk_size = std::size_t{512} << 10;
  /// Chunks under way at a time where the data is not in the page cache, at most 1024.
  std::size_t depth = 4;
  /// Straight from the device, past the page cache: for data that is not in there and is read once.
  /// Chunks are made up to a multiple of 4 KiB. Where the file system has no such way, wants larger
  /// units, or for a pipe, it is read as otherwise.
  bool direct = false;
  /// Refuses what is no regular file, such as a pipe or a device, with failed_precondition, before
  /// anything is read of it: for names that somebody else has given.
  bool regular_only = false;
};

}  // namespace leat
