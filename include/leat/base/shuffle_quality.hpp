#pragma once

#include <cstdint>
#include <span>

namespace leat {

/// How well an order mixes, in two figures that do not depend on how many items there are.
struct shuffle_quality {
  /// How far the items are from where they stood: the mean distance, relative to that of a random
  /// order, (n^2 - 1) / (3 n). The identity has 0, a random order about 1, a shuffle buffer
  /// of B items that is much smaller than n about 2.2 B / n.
  double displacement = 0;
  /// Which share of the n - 1 pairs of neighbours are items that stood side by side, in either
  /// order. The identity and its reverse have 1, a random order about 2 / n, a shuffle buffer of B
  /// items about 1 / B.
  double neighbours = 0;
};

/// Measures the order in which items came: of each, in turn, where it stood, from 0. That each
/// stands there once is not checked. Fewer than two items are as the identity.
///
/// Errors: invalid_argument for a position that is not below order.size().
/// Thread safety: thread-compatible. Cost: O(n), no allocation.
[[nodiscard]] shuffle_quality measure_shuffle(std::span<const std::uint64_t> order);

}  // namespace leat
