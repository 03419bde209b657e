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

/// The state of the stage of read_indexed().
class indexed_state final : public stage_state {
 public:
  std::string reader = {};                 ///< state of the indexed_reader; empty: not open yet
  std::vector<std::string> readers = {};   ///< of all ranks, if not empty: to be redistributed
  std::optional<std::uint64_t> seed = {};  ///< of the orders
  world_rank rank = {};
  std::vector<saved_file_version> versions = {};  ///< of the files, to name a changed one

  std::string write() const override;
  void read(std::string_view own, const std::vector<setting>& settings) override;
  world_rank world() const noexcept override { return rank; }
  void merge(const std::vector<const stage_state*>& ranks, rank_share& share) override;
};

}  // namespace LEAT::detail
