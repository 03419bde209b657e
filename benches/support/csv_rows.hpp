#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The columns of decode/csv, for up to some thousand rows, as a reader delivers them.
struct csv_rows {
  std::vector<std::int64_t> ids;
  std::vector<double> prices;
  std::vector<float> ratios;
  std::vector<std::string> states;
  std::vector<std::int64_t> counts;

  /// Clears the columns if they have 4,096 rows.
  void make_room() {
    constexpr std::size_t most = 4096;
    if (ids.size() < most) return;
    ids.clear();
    prices.clear();
    ratios.clear();
    states.clear();
    counts.clear();
  }
};

}  // namespace bench
