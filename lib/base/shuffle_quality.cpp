#include "leat/base/shuffle_quality.hpp"

#include <cstddef>
#include <string>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

std::uint64_t distance(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? b - a : a - b; }

}  // namespace

shuffle_quality measure_shuffle(std::span<const std::uint64_t> order) {
  double moved = 0;  // in all
  std::size_t kept = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] >= order.size()) {
      throw failure(errc::invalid_argument, "measure_shuffle: order[" + std::to_string(i) +
                                                "] is " + std::to_string(order[i]) +
                                                ", must be less than the size, " +
                                                std::to_string(order.size()));
    }
    moved += static_cast<double>(distance(order[i], i));
    if (i > 0 && distance(order[i], order[i - 1]) == 1) ++kept;
  }
  if (order.size() < 2) return {.displacement = 0, .neighbours = 1};
  const auto n = static_cast<double>(order.size());
  return {.displacement = moved / n / ((n * n - 1) / (3 * n)),
          .neighbours = static_cast<double>(kept) / (n - 1)};
}

}  // namespace LEAT
