#pragma once

#include <cstdint>
#include <string>

namespace leat::detail {

/// The last epoch that is counted: a state that tells of a later one was made up.
inline constexpr std::uint64_t max_epochs = (std::uint64_t{1} << 63) - 1;

/// Ranks whose shares are dealt anew may be so many epochs apart: each one between takes time and
/// memory.
inline constexpr std::uint64_t max_epoch_gap = 1024;

/// Why they are not, of a rank that is so many epochs behind the first one; empty: they are.
[[nodiscard]] inline std::string epoch_gap_error(std::uint64_t rank, std::uint64_t world_size,
                                                 std::uint64_t epochs) {
  if (epochs <= max_epoch_gap) return {};
  return "rank " + std::to_string(rank) + " of " + std::to_string(world_size) + " is " +
         std::to_string(epochs) + " epochs behind another one";
}

}  // namespace leat::detail
