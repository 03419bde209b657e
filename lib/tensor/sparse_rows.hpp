#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "leat/tensor/dtype.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT::detail {

/// A sparse value, or a batch of them, as components of a tuple.
struct sparse_view {
  sparse_view(const tensor_tuple& t, std::size_t first) noexcept
      : indices(t[first]), values(t[first + 1]), dense_shape(t[first + 2]) {}

  const tensor& indices;
  const tensor& values;
  const tensor& dense_shape;
};

/// Returns what is wrong with a sparse value whose components have valid types and ranks; empty if
/// it is valid. `rising`: the first number of the indices must not decrease.
std::string sparse_error(const sparse_view& s, const partial_shape& dense_shape, bool rising);

/// The rows of a valid batch of sparse values.
class sparse_rows {
 public:
  explicit sparse_rows(const sparse_view& batch);

  /// Adds the three components of a row to `to`. Rows must be requested in ascending order.
  void add(std::int64_t row, std::vector<tensor>& to);

 private:
  sparse_view batch_;
  std::size_t rank_;    // of a row
  tensor dense_shape_;  // of each row
  std::size_t next_ = 0;
};

/// Adds the three components of a batch to `to`. It consists of the sparse values of one type and
/// rank that are at the components `first` to `first` + 2 of the elements.
void stack_sparse(std::span<const tensor_tuple> elements, std::size_t first, dtype type,
                  std::size_t rank, std::vector<tensor>& to);

}  // namespace LEAT::detail
