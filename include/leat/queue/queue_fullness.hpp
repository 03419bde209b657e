#pragma once

#include <string>
#include <string_view>

#include "leat/queue/queue_base.hpp"
#include "leat/queue/queue_statistics.hpp"

namespace LEAT {

/// The fill level of a queue, as in TensorFlow's summaries. A value near 0 means that the queue is
/// filled too slowly.
struct fullness {
  std::string tag;  ///< "input_producer/fraction_of_32_full"
  float value = 0;  ///< from 0 to 1
  friend bool operator==(const fullness&, const fullness&) = default;
};

/// Returns the fill level of a queue with the given statistics. `scope` is the first part of the
/// tag.
///
///     scope/fraction_of_32_full            size / capacity
///     scope/fraction_over_10_of_22_full    max(0, size - minimum) / (capacity - minimum), of a
///                                          queue with a min_after_dequeue: here 10 of 32
///
/// An unbounded queue has the value 0, and "unbounded" in its tag. The value is at most 1, even if
/// the queue stores more items than its capacity because batches have returned items.
/// TensorFlow: the summaries of input_producer, batch and shuffle_batch.
[[nodiscard]] fullness queue_fullness(std::string_view scope, const queue_statistics& s);

/// Returns the current fill level of a queue, with its name as the scope. Thread safety:
/// thread-safe.
[[nodiscard]] fullness queue_fullness(const queue_base& queue);

}  // namespace LEAT
