#pragma once

#include <functional>
#include <optional>

#include "leat/async/task.hpp"
#include "leat/input/basic_producer.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/tensor.hpp"

namespace leat {

/// Produces the rows of a tensor, along its dimension 0, epoch by epoch; see basic_producer.
///
/// Cost: the tensor is shared with those who gave it; a row is a copy.
/// TensorFlow: tf.train.input_producer.
class tensor_input_producer final : public basic_producer<tensor> {
 public:
  /// Errors: invalid_argument for a scalar or no rows, and as basic_producer.
  explicit tensor_input_producer(tensor rows, const producer_options& options = {});

  /// The same, and the rows have to be of `element_shape`: invalid_argument if they are not.
  tensor_input_producer(tensor rows, leat::shape element_shape,
                        const producer_options& options = {});

  /// The rows of a tensor that is found when the first epoch begins, and so must say beforehand
  /// what shape they have.
  ///
  /// Errors: invalid_argument without an element_shape, and as basic_producer. What `find` throws
  ///         the producer fails with; with invalid_argument for a tensor that will not do.
  tensor_input_producer(std::function<task<tensor>()> find,
                        std::optional<leat::shape> element_shape,
                        const producer_options& options = {});

  /// The shape of what is in the queue.
  [[nodiscard]] const leat::shape& element_shape() const noexcept { return element_shape_; }

 private:
  task<bool> epoch();
  void take(tensor rows);

  std::optional<tensor> rows_;
  std::function<task<tensor>()> find_;
  leat::shape element_shape_;
};

}  // namespace leat
