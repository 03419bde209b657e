#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

// Between elements and batches. These are functions of their arguments alone; thread safety:
// thread-safe for reading. Errors of all: std::bad_alloc.

/// Stacks n tensors of the same type and shape into one tensor [n, ...].
///
/// Errors: invalid_argument if there is no tensor, or if types or shapes differ.
/// Cost:   one allocation and one pass over the values.
[[nodiscard]] tensor stack(std::span<const tensor> rows);

/// Like stack(rows), but with padding. Each dimension that `spec` does not know becomes the largest
/// of these rows; 0 if there are no rows. Smaller rows are at the low end; the rest is 0, false or
/// "". Known dimensions are never padded. Without padding a row is copied in one piece.
///
/// Errors: invalid_argument if a row does not match the spec. If the spec does not know the rank,
///         also if there is no row or if the shapes of the rows differ.
[[nodiscard]] tensor stack(std::span<const tensor> rows, const component_spec& spec);

/// Stacks each component of elements into a batch. TensorFlow: PaddingFIFOQueue, dequeue_many.
[[nodiscard]] tensor_tuple stack(std::span<const tensor_tuple> elements, const element_spec& spec);

/// Returns a tensor of the larger shape `to` with `t` at the low end; the rest is 0, false or "".
///
/// Errors: invalid_argument if the rank differs or a dimension of `to` is smaller.
[[nodiscard]] tensor pad(const tensor& t, const shape& to);

/// Returns the rows of a batch along its first dimension. Each has its own memory, so that one row
/// does not keep the others alive. Errors: invalid_argument for a scalar.
[[nodiscard]] std::vector<tensor> unstack(const tensor& batch);

/// Returns one row of a batch, with its own memory.
/// Errors: invalid_argument for a scalar, or if there is no row `index`.
[[nodiscard]] tensor unstack_row(const tensor& batch, std::size_t index);

/// Returns the elements of a batch. Errors: invalid_argument if a component is a scalar, or if the
/// components differ in the first dimension. TensorFlow: enqueue_many.
[[nodiscard]] std::vector<tensor_tuple> unstack(const tensor_tuple& batch);

}  // namespace LEAT
