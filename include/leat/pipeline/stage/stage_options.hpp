#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "leat/base/batch_remainder.hpp"
#include "leat/base/braced.hpp"

namespace LEAT {

/// Options of pipeline::map() and flat_map().
struct map_stage_options {
  /// The number of tasks that call the function. If 0, the stage has no task of its own and works
  /// in the task that requests its output.
  std::size_t workers = 0;
};

/// Options of pipeline::prefetch().
struct prefetch_stage_options {
  std::size_t blocks = 1;  ///< how many blocks of elements the preceding stages may run ahead
  /// If true, the preceding stages run on one of pipeline_options::workers, concurrently with the
  /// following ones. Readers are opened on that scheduler, and functions without workers of their
  /// own are called on it. Such a pipeline cannot be saved.
  bool on_worker = false;
  option_string name = "prefetch";  ///< name of the stage
};

/// Options of pipeline::shuffle().
struct shuffle_stage_options {
  std::size_t capacity = 0;                ///< number of elements in the buffer
  std::optional<std::uint64_t> seed = {};  ///< if not set, a different order each time
  option_string name = "shuffle";          ///< name of the stage
};

/// Options of pipeline::batch().
struct batch_stage_options {
  std::size_t batch_size = 0;                         ///< number of elements in a batch
  batch_remainder remainder = batch_remainder::keep;  ///< keep: the last batch may be smaller
  option_string name = "batch";                       ///< name of the stage
};

}  // namespace LEAT
