#pragma once

#include <cstddef>
#include <new>
#include <span>
#include <vector>

#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT::detail {

// Parts of stack() and unstack(), defined in stacking.cpp.

/// Component `c` of the elements as one tensor; see stack().
tensor stack_component(std::span<const tensor_tuple> elements, std::size_t c,
                       const component_spec& spec);

/// Concatenates the values of component `c` of the elements: [n].
tensor concatenate_component(std::span<const tensor_tuple> elements, std::size_t c, dtype type);

/// Copies as many values as `row` has, from value `first` on.
tensor copy_values(const tensor& from, const shape& row, std::size_t first);

/// Returns the shape of a row of a batch. Errors: invalid_argument for a scalar.
shape row_shape(const tensor& batch);

/// Returns an empty list with capacity for `count` rows. A batch of rows without values may declare
/// any number of rows.
template <class T>
std::vector<T> reserved_vector(std::size_t count) {
  std::vector<T> rows;
  if (count > rows.max_size()) throw std::bad_alloc();
  rows.reserve(count);
  return rows;
}

}  // namespace LEAT::detail
