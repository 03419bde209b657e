#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/base/world_rank.hpp"

namespace LEAT {

/// The files that a pipeline reads, how often, and in which order.
///
/// The pipeline reads `interleave` files concurrently and delivers `block_length` records of each
/// in turn. Like sequential reading, this order does not depend on speed. When a file ends, the
/// next one continues in the same turn. An epoch is read to its end before the next one begins. The
/// order of the files in epoch e is a function of (seed, e).
template <class Reader>
struct file_source {
  /// Paths or patterns of match_files(); each must match at least one file. The name of an existing
  /// file is not a pattern; pass other names through escape_pattern(). The files are sorted, and an
  /// epoch reads each file once, even if it is named several times. A descriptor_path(), such as
  /// "/dev/stdin", can be read in one epoch, and its pipeline cannot be saved.
  option_list<std::string> files;
  std::optional<std::uint64_t> num_epochs = 1;  ///< if not set, the epochs never end
  bool shuffle = false;                    ///< if true, the files have a new order in each epoch
  std::optional<std::uint64_t> seed = {};  ///< of the orders; if not set, different each time
  std::size_t interleave = 1;              ///< files that are read concurrently
  std::size_t block_length = 64;           ///< records of one file in turn
  /// The number of tasks that read files, on pipeline_options::workers in turn. A number from 1 to
  /// `interleave` means `interleave`. If 0, the task that requests the records reads the files.
  ///
  /// As many files are open: the interleaved ones and the next ones in the epoch's order. Each is
  /// read, verified and decompressed in a task of its own, up to two batches ahead. The order of
  /// records, the states and the order of reports are the same for any number of readers. Reports
  /// are made in the task that requests the records.
  std::size_t readers = 0;
  /// The rank of this process among the processes that share the files. It reads the files rank,
  /// rank + world_size, ... of each epoch's order. Processes that shuffle need a seed. Shares of
  /// records, or of equal size, need an index, so use read_indexed() for these. To resume with a
  /// different number of ranks, see pipeline::restore_ranks().
  world_rank world = {};
  typename Reader::options_type reader = {};  ///< of the reader of each file
  option_string name = "files";               ///< name of the stage
};

}  // namespace LEAT
