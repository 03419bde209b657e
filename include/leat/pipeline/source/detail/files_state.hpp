#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/world_rank.hpp"
#include "leat/pipeline/source/detail/saved_file_versions.hpp"
#include "leat/pipeline/state/detail/stage_state.hpp"

namespace LEAT::detail {

/// An interleaved file, and its next record.
struct file_position {
  bool open = false;   ///< false: the next file of the epoch is opened here, if any
  bool ended = false;  ///< no file is left in this epoch
  bool any = false;    ///< records were read
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t index = 0;
  std::uint64_t reports = 0;  ///< reports of corruption so far
};

/// Files of an epoch that were redistributed during the epoch.
struct assigned_files {
  std::vector<file_position> begun = {};  ///< their positions; they come first
  std::vector<std::uint64_t> files = {};  ///< the other files
};

/// The position of a file source: before a round of turns, and the progress within this round.
struct files_state {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;      ///< epochs that have begun
  std::uint64_t next_file = 0;  ///< in the epoch's order
  std::uint64_t closed = 0;     ///< positions that have ended
  std::uint64_t records = 0;    ///< delivered since then
  std::vector<file_position> positions = {};
  std::vector<saved_file_version> files = {};
  std::optional<assigned_files> assigned = {};  ///< the epoch's order, if not that of the rank
};

/// Returns true if `closed` is the number of ended positions, and none of these is open.
[[nodiscard]] bool has_consistent_positions(const files_state& s) noexcept;

inline constexpr const char* rank_setting = "rank";
inline constexpr const char* world_size_setting = "world_size";

/// The state of a file_stage.
class file_stage_state final : public stage_state {
 public:
  files_state at = {};
  std::vector<files_state> of_ranks = {};  ///< if not empty: to be redistributed

  std::string write() const override;
  void read(std::string_view own, const std::vector<setting>& settings) override;
  world_rank world() const noexcept override { return world_; }
  std::string_view rank_bond() const noexcept override { return "belongs to"; }
  void merge(const std::vector<const stage_state*>& ranks, rank_share& share) override;

 private:
  world_rank world_ = {};
};

/// Errors: state_defect, with failed_precondition, for ranks whose orders have different seeds:
///         several of them have read some records, and none has read others.
void require_one_seed(const std::vector<std::optional<std::uint64_t>>& seeds);

}  // namespace LEAT::detail
