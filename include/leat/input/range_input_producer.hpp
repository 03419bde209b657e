#pragma once

#include <cstdint>

#include "leat/input/basic_producer.hpp"

namespace LEAT {

/// A producer of the numbers 0 to limit - 1, epoch by epoch; see basic_producer.
///
/// Cost: no memory for the numbers unless they are shuffled.
/// TensorFlow: tf.train.range_input_producer.
class range_input_producer final : public basic_producer<std::int32_t> {
 public:
  /// Errors: invalid_argument if `limit` is below 1 or above 2^31, and as basic_producer.
  explicit range_input_producer(std::int64_t limit, const producer_options& options = {});
};

}  // namespace LEAT
