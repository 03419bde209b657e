#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leat/base/braced.hpp"
#include "leat/base/world_rank.hpp"

namespace leat {

/// Which files a pipeline reads, how often and in which order.
///
/// `interleave` files are read side by side, `block_length` records of each in turn, which is an
/// order as fixed as that of one after the other: it does not depend on speed. When a file ends,
/// the next one continues in the same turn. An epoch is read to its end before the next one begins.
/// The order of the files in epoch e is a function of (seed, e).
template <class Reader>
struct file_source {
  /// Files, or patterns as match_files() takes them: each has to match a file. All are sorted, and
  /// each is read once, however often it is named.
  braced<std::vector<std::string>> files;
  std::optional<std::uint64_t> num_epochs = 1;  ///< none: again and again
  bool shuffle = false;                         ///< the files, another order in each epoch
  std::optional<std::uint64_t> seed = {};       ///< of the orders; none: others each time
  std::size_t interleave = 1;
  std::size_t block_length = 64;
  /// Tasks that read files, on pipeline_options::workers in turn; a number from 1 to `interleave`
  /// means `interleave`, since the order does not depend on it. So many
  /// files are open: those whose turns it is, and the next ones of the epoch's order; each is read,
  /// verified and inflated in a task of its own, up to two batches ahead. The order is the same for
  /// any number of them, and so are states and the order of reports, which are told where their
  /// records are asked for. 0: none, files are read there.
  std::size_t readers = 0;
  /// Which of several processes that share the files this is: it reads the files rank, rank +
  /// world_size, ... of each epoch's order. Such processes need a seed to shuffle. Shares by
  /// records, and of equal size, take an index, which read_indexed() has; see
  /// pipeline::restore_ranks() to go on with another number of ranks.
  world_rank world = {};
  typename Reader::options_type reader = {};
  braced<std::string> name = "files";  ///< of the stage
};

}  // namespace leat
