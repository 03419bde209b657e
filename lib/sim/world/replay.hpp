#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leat/base/flavour.hpp"

namespace LEAT::sim {

/// A run that variables of the environment select.
struct replayed_run {
  std::uint64_t seed;
  std::optional<std::vector<std::uint32_t>> decisions;  // empty: made from the seed
};

/// Reads LEAT_SIM_SEED, or else uses `first`, and LEAT_SIM_DECISIONS. Returns an empty optional if
/// neither is set. Errors: std::invalid_argument.
[[nodiscard]] std::optional<replayed_run> replayed_run_from_environment(std::uint64_t first);

/// Returns the variables that select a run, as in a command line.
[[nodiscard]] std::string replay_variables(
    std::uint64_t seed, const std::optional<std::vector<std::uint32_t>>& decisions);

}  // namespace LEAT::sim
