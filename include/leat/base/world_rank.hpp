#pragma once

#include <cstdint>
#include <string>

namespace leat {

/// Which of several processes with a common job this one is, in the words of MPI and PyTorch: its
/// rank, counted from 0, and the world size, the number of all ranks. Each rank reads a share of
/// every epoch. The default is a process of its own, which reads everything.
///
///     leat::read_files<leat::line_reader>({.files = {"data/*.txt"},
///                                          .world = {.rank = 2, .world_size = 8}})
///
/// It is valid if world_size is 1 to 2^32 and rank is below world_size. Functions that take one
/// check it and throw invalid_argument.
///
/// A value type.
struct world_rank {
  std::uint64_t rank = 0;
  std::uint64_t world_size = 1;

  /// Returns the reason why the value is not valid, such as "rank is 8, must be below the
  /// world_size of 8"; empty if it is valid.
  [[nodiscard]] std::string error() const;
  /// Returns "rank 2 of 8".
  [[nodiscard]] std::string text() const;

  friend bool operator==(const world_rank&, const world_rank&) = default;
};

}  // namespace leat
