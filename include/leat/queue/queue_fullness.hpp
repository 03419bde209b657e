#pragma once

#include <string>
#include <string_view>

#include "leat/queue/queue_base.hpp"
#include "leat/queue/queue_statistics.hpp"

namespace leat {

/// How full a queue is, as in TensorFlow's summaries. Near 0: it is filled too slowly.
struct fullness {
  std::string tag;  ///< "input_producer/fraction_of_32_full"
  float value = 0;  ///< from 0 to 1
  friend bool operator==(const fullness&, const fullness&) = default;
};

/// Returns the fullness of the queue with these statistics; `scope` is the first part of the tag.
///
///     scope/fraction_of_32_full            size / capacity
///     scope/fraction_over_10_of_22_full    max(0, size - minimum) / (capacity - minimum), of a
///                                          queue with a min_after_dequeue: here 10 of 32
///
/// The value of an unbounded queue is 0, and its tag says "unbounded". The value is at most 1, even
/// if batches that returned items have put more into a queue than its capacity.
/// TensorFlow: the summaries of input_producer, batch and shuffle_batch.
[[nodiscard]] fullness queue_fullness(std::string_view scope, const queue_statistics& s);

/// Returns the current fullness of a queue, with its name as the scope. Thread safety: thread-safe.
[[nodiscard]] fullness queue_fullness(const queue_base& queue);

}  // namespace leat
