#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// The columns of decode/csv, for some thousand rows at a time, as a reader gives them.
struct csv_rows {
  std::vector<std::int64_t> ids;
  std::vector<double> prices;
  std::vector<float> ratios;
  std::vector<std::string> states;
  std::vector<std::int64_t> counts;

  /// Begins anew when there are many.
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
