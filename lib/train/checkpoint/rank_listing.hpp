#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/train/checkpoint/rank_checkpoints.hpp"

namespace leat::detail {

/// The checkpoints of a rank's directory, by their steps.
struct rank_listing {
  std::string directory;
  bool exists = false;
  std::map<std::uint64_t, std::string> paths = {};

  bool operator==(const rank_listing&) const = default;
};

/// What the directories of ranks have, and what of it find_rank_checkpoints() finds.
struct rank_listings {
  std::vector<rank_listing> ranks = {};
  std::optional<rank_checkpoints> common = {};
};

/// See find_rank_checkpoints().
[[nodiscard]] task<rank_listings> find_common_checkpoints(std::vector<std::string> directories,
                                                          rank_checkpoint_options options);

/// False: somebody has saved since, or not all have the common step any more. That ranks delete
/// what is newer than that does not matter.
[[nodiscard]] task<bool> are_unchanged(const rank_listings& before,
                                       rank_checkpoint_options options);

}  // namespace leat::detail
