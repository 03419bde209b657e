#pragma once

#include "leat/tensor/tensor.hpp"

namespace LEAT {

/// The values of a mostly empty tensor, with the index of each value.
///
/// A value type. Thread safety: thread-compatible.
struct sparse_tensor {
  tensor indices;      ///< int64 [n, rank]: the indices of each value, in rising order
  tensor values;       ///< [n]
  tensor dense_shape;  ///< int64 [rank]: the shape of the whole tensor

  friend bool operator==(const sparse_tensor&, const sparse_tensor&) noexcept = default;
};

}  // namespace LEAT
