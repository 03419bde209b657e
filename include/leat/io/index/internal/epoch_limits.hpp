#pragma once

#include <cstdint>
#include <string>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The last epoch that is counted. A state with a later epoch is invalid.
inline constexpr std::uint64_t max_epochs = (std::uint64_t{1} << 63) - 1;

/// The largest distance in epochs between ranks whose shares are redistributed: each epoch between
/// them costs time and memory.
inline constexpr std::uint64_t max_epoch_gap = 1024;

/// Returns the error for a rank that is `epochs` epochs slower than the first rank. Returns an
/// empty string if that is allowed.
[[nodiscard]] inline std::string epoch_gap_error(std::uint64_t rank, std::uint64_t world_size,
                                                 std::uint64_t epochs) {
  if (epochs <= max_epoch_gap) return {};
  return "rank " + std::to_string(rank) + " of " + std::to_string(world_size) + " is " +
         std::to_string(epochs) + " epochs behind another rank";
}

}  // namespace LEAT::detail
