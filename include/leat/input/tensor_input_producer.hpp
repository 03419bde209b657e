#pragma once

#include <functional>
#include <optional>

#include "leat/async/task.hpp"
#include "leat/input/basic_producer.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/tensor.hpp"

namespace LEAT {

/// A producer of the rows of a tensor, along its dimension 0, epoch by epoch; see basic_producer.
///
/// Cost: shares the tensor with the caller; each row is a copy.
/// TensorFlow: tf.train.input_producer.
class tensor_input_producer final : public basic_producer<tensor> {
 public:
  /// Errors: invalid_argument if `rows` is a scalar or has no rows, and as basic_producer.
  explicit tensor_input_producer(tensor rows, const producer_options& options = {});

  /// Like the constructor without `element_shape`, but also requires that the rows have this shape.
  ///
  /// Errors: also invalid_argument if the rows have another shape.
  tensor_input_producer(tensor rows, leat::shape element_shape,
                        const producer_options& options = {});

  /// Produces the rows of a tensor that `find` returns when the first epoch begins. The shape of
  /// the rows must therefore be known beforehand.
  ///
  /// Errors: invalid_argument if `element_shape` is not set, and as basic_producer. If `find`
  ///         throws, the producer fails with that error. If the tensor is a scalar, has no rows or
  ///         has rows of another shape, the producer fails with invalid_argument.
  tensor_input_producer(std::function<task<tensor>()> find,
                        std::optional<leat::shape> element_shape,
                        const producer_options& options = {});

  /// Returns the shape of the rows in the queue.
  [[nodiscard]] const leat::shape& element_shape() const noexcept { return element_shape_; }

 private:
  task<bool> epoch();
  void take(tensor rows);

  std::optional<tensor> rows_;
  std::function<task<tensor>()> find_;
  leat::shape element_shape_;
};

}  // namespace LEAT
