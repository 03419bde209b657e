#pragma once

#include <string>
#include <string_view>

#include "leat/queue/queue_base.hpp"
#include "leat/queue/queue_statistics.hpp"

namespace leat {

/// How full a queue is, as TensorFlow's summaries tell it. What stays near 0 is filled too slowly.
struct fullness {
  std::string tag;  ///< "input_producer/fraction_of_32_full"
  float value = 0;  ///< from 0 to 1
  friend bool operator==(const fullness&, const fullness&) = default;
};

/// The fullness of the queue that the statistics are of; `scope` is the first part of the tag.
///
///     scope/fraction_of_32_full            size / capacity
///     scope/fraction_over_10_of_22_full    max(0, size - min_left) / (capacity - min_left),
///                                          of a queue with a minimum: here 10 of 32
///
/// Of an unbounded queue it is 0 and says "unbounded". Batches that gave items back can have put
/// more into a queue than it holds: then it is 1.
/// Source: the summaries of input_producer, batch and shuffle_batch.
[[nodiscard]] fullness queue_fullness(std::string_view scope, const queue_statistics& s);

/// The same of a queue now, with its name as the scope. Thread safety: shared-safe.
[[nodiscard]] fullness queue_fullness(const queue_base& queue);

}  // namespace leat
