#pragma once

#include <cstdint>
#include <span>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// A measure of how well an order mixes: two numbers that do not depend on the number of items.
struct shuffle_quality {
  /// The mean distance of the items from their original positions, divided by the mean distance of
  /// a random order, (n^2 - 1) / (3 n). The identity has 0, a random order about 1, and a shuffle
  /// buffer of B items, if B is much smaller than n, about 2.2 B / n.
  double displacement = 0;
  /// The fraction of the n - 1 pairs of neighbours that were neighbours originally, in either
  /// order. The identity and its reverse have 1, a random order about 2 / n, and a shuffle buffer
  /// of B items about 1 / B.
  double neighbours = 0;
};

/// Measures an order, which lists the original position of each item, counted from 0. Does not
/// check that each position occurs once. For fewer than two items, returns the result of the
/// identity.
///
/// Errors: invalid_argument if a position is not below order.size().
///
/// Thread safety: thread-compatible.
///
/// Cost: O(n), no allocation.
[[nodiscard]] shuffle_quality measure_shuffle(std::span<const std::uint64_t> order);

}  // namespace LEAT
