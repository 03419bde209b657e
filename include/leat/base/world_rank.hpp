#pragma once

#include <cstdint>
#include <string>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The rank of a process in a common job, counted from 0, and the world size, which is the number
/// of all ranks. The terms are MPI's and PyTorch's. Each rank reads a share of every epoch.
/// Default: the only rank, which reads everything.
///
///     leat::read_files<leat::line_reader>({.files = {"data/*.txt"},
///                                          .world = {.rank = 2, .world_size = 8}})
///
/// A value is valid if world_size is 1 to 2^32 and rank is below world_size. Functions with a
/// world_rank parameter check it and throw invalid_argument.
///
/// A value type.
struct world_rank {
  /// The number of the process, below world_size.
  std::uint64_t rank = 0;
  /// The number of processes of the job, at least 1.
  std::uint64_t world_size = 1;

  /// Returns the reason why the value is invalid, such as "rank is 8, must be below the world_size
  /// of 8", or an empty string if it is valid.
  [[nodiscard]] std::string error() const;
  /// Returns "rank 2 of 8".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const world_rank&, const world_rank&) = default;
};

}  // namespace LEAT
