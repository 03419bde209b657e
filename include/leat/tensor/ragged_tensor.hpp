#pragma once

#include <vector>

#include "leat/tensor/tensor.hpp"

namespace LEAT {

/// A tensor with rows of varying length, nested to any depth.
///
/// Splits define the rows of a level: row i contains the items from splits[i] up to, but not
/// including, splits[i + 1] of the next inner level. For example, [[1, 2], [], [3]] has the splits
/// [0, 2, 2, 3] and the values [1, 2, 3].
///
/// A value type. Thread safety: thread-compatible.
struct ragged_tensor {
  /// The splits of each level, outermost first. Each is int32 or int64 [rows + 1], starts at 0,
  /// never decreases, and ends with the number of items of the next inner level.
  std::vector<tensor> row_splits;
  tensor values;  ///< [items] + the shape of one item; this shape is [] for single values

  friend bool operator==(const ragged_tensor&, const ragged_tensor&) noexcept = default;
};

}  // namespace LEAT
