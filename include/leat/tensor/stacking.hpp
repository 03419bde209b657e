#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace leat {

// Between elements and batches. These are functions of their arguments alone; thread safety:
// thread-safe for reading. Errors of all: std::bad_alloc.

/// One tensor [n, ...] of n tensors of the same type and shape, one behind the other.
///
/// Errors: invalid_argument for none, or when they differ.
/// Cost:   one allocation and one pass over the values.
[[nodiscard]] tensor stack(std::span<const tensor> rows);

/// The same with padding: each dimension that `spec` does not know becomes the largest of these
/// rows, 0 without rows. Smaller rows stand at the low end; the rest is 0, false or "". Known
/// dimensions are never padded, and where nothing is, a row is copied in one piece.
///
/// Errors: invalid_argument when a row does not match the spec; where the spec knows no rank, when
///         there is no row or they differ.
[[nodiscard]] tensor stack(std::span<const tensor> rows, const component_spec& spec);

/// A batch of elements: stacks each component. TensorFlow: PaddingFIFOQueue, dequeue_many.
[[nodiscard]] tensor_tuple stack(std::span<const tensor_tuple> elements, const element_spec& spec);

/// The tensor at the low end of a larger one of shape `to`; the rest is 0, false or "".
///
/// Errors: invalid_argument for another rank or a smaller dimension.
[[nodiscard]] tensor pad(const tensor& t, const shape& to);

/// The rows of a batch along its first dimension, each with memory of its own, so that one row does
/// not keep the others alive. Errors: invalid_argument for a scalar.
[[nodiscard]] std::vector<tensor> unstack(const tensor& batch);

/// One of these rows. Errors: also invalid_argument for an index beyond the last.
[[nodiscard]] tensor unstack_row(const tensor& batch, std::size_t index);

/// The elements of a batch. Errors: invalid_argument for components that differ in the first
/// dimension, or for a scalar. TensorFlow: enqueue_many.
[[nodiscard]] std::vector<tensor_tuple> unstack(const tensor_tuple& batch);

}  // namespace leat
