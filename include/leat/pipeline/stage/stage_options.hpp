#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "leat/base/batch_remainder.hpp"
#include "leat/base/braced.hpp"

namespace leat {

/// Tasks in which a stage works. 0: in none of its own, but where its output is asked for.
struct map_stage_options {
  std::size_t workers = 0;
};

/// How far ahead of its consumer a pipeline runs, and where.
struct prefetch_stage_options {
  std::size_t blocks = 1;  ///< blocks of elements
  /// True: the stages before run on one of pipeline_options::workers, beside those behind. Readers
  /// are opened there, and functions without workers of their own are called there. Such a pipeline
  /// cannot be saved.
  bool on_worker = false;
  braced<std::string> name = "prefetch";
};

/// What a shuffle holds, from which it draws.
struct shuffle_stage_options {
  std::size_t capacity = 0;                ///< elements
  std::optional<std::uint64_t> seed = {};  ///< none: another order each time
  braced<std::string> name = "shuffle";
};

/// How elements are put together.
struct batch_stage_options {
  std::size_t batch_size = 0;                         ///< elements
  batch_remainder remainder = batch_remainder::keep;  ///< keep: the last batch may be smaller
  braced<std::string> name = "batch";
};

}  // namespace leat
