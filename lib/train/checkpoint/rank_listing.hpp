#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/train/checkpoint/rank_checkpoints.hpp"

namespace LEAT::detail {

/// The checkpoints of a rank's directory by step.
struct rank_listing {
  std::string directory;
  bool exists = false;
  std::map<std::uint64_t, std::string> paths = {};

  bool operator==(const rank_listing&) const = default;
};

/// The checkpoints in the directories of the ranks, and the result of find_rank_checkpoints().
struct rank_listings {
  std::vector<rank_listing> ranks = {};
  std::optional<rank_checkpoints> common = {};
};

/// See find_rank_checkpoints().
[[nodiscard]] task<rank_listings> find_common_checkpoints(std::vector<std::string> directories,
                                                          rank_checkpoint_options options);

/// Returns false if a rank has saved since, or not all ranks have the common step any more. It does
/// not matter if ranks delete newer checkpoints.
[[nodiscard]] task<bool> are_unchanged(const rank_listings& before,
                                       rank_checkpoint_options options);

}  // namespace LEAT::detail
