#pragma once

#include <cstddef>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// Options for how a reader fetches its file.
struct read_options {
  /// The size in bytes of one read, at most 1 GiB; never more than the file has.
  std::size_t chunk_size = std::size_t{512} << 10;
  /// The number of chunks in flight at a time if the data is not in the page cache, at most 1024.
  std::size_t depth = 4;
  /// If true, reads use direct I/O, which bypasses the page cache: for data that is not in the page
  /// cache and is read once. The size of a chunk is rounded up to a multiple of 4 KiB. The option
  /// has no effect on a pipe, or if the file system does not support direct I/O or requires larger
  /// units.
  bool direct = false;
  /// If true, a file that is not regular, such as a pipe or a device, is rejected with
  /// failed_precondition before any of it is read: for names that the program did not choose
  /// itself.
  bool regular_only = false;
};

}  // namespace LEAT
