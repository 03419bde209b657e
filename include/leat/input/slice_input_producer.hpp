#pragma once

#include "leat/input/basic_producer.hpp"
#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

/// A producer of elements that have one row of each column, epoch by epoch; see basic_producer.
/// Rows with the same index stay together in any order.
///
///     auto data = leat::tensor_tuple::named({{"image", images}, {"label", labels}});
///     leat::slice_input_producer samples(data, {.num_epochs = 10});
///
/// An element has the names of the columns.
///
/// Cost: shares the columns with the caller; an element is a copy of its rows.
/// TensorFlow: tf.train.slice_input_producer.
class slice_input_producer final : public basic_producer<tensor_tuple> {
 public:
  /// Errors: invalid_argument if there are no columns or no rows, if a column has no dimension 0 or
  ///         a different number of rows than the first one, and as basic_producer.
  explicit slice_input_producer(tensor_tuple columns, const producer_options& options = {});

  /// Returns the spec of the elements.
  [[nodiscard]] const element_spec& spec() const noexcept { return spec_; }

 private:
  [[nodiscard]] tensor_tuple element(std::size_t row) const;

  const tensor_tuple columns_;
  const element_spec spec_;
};

}  // namespace LEAT
