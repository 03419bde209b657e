#pragma once

#include <vector>

#include "leat/tensor/tensor.hpp"

namespace leat {

/// Values in rows of any length, and these in rows of any length, and so on.
///
/// The rows of a level are told by splits: row i has the items from splits[i] to below
/// splits[i + 1] of the level below it. So [[1, 2], [], [3]] has the splits [0, 2, 2, 3] and the
/// values [1, 2, 3].
///
/// A value type. Thread safety: thread-compatible.
struct ragged_tensor {
  /// Of each level, the outermost first: int32 or int64 [rows + 1], from 0, never falling, to the
  /// number of items of the level below.
  std::vector<tensor> row_splits;
  tensor values;  ///< [items] + the shape of one item, which is [] where they are single values

  friend bool operator==(const ragged_tensor&, const ragged_tensor&) noexcept = default;
};

}  // namespace leat
