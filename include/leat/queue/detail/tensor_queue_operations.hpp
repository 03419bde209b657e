#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "leat/queue/detail/queue_operations.hpp"
#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/stacking.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace leat::detail {

// Built on the operations of the queue, which include its weights.

/// A pop of many elements as one batch. The receiver stacks the batch when all elements have
/// arrived.
template <class Queue, class PopMany>
struct pop_batch_operation : PopMany {
  pop_batch_operation(std::size_t count, Queue& q, const element_spec& s)
      : PopMany{count}, queue(q), spec(s) {}

  Queue& queue;
  const element_spec& spec;

  [[nodiscard]] std::optional<tensor_tuple> result(queue_outcome o, std::size_t) {
    if (o != queue_outcome::done) return std::nullopt;
    try {
      return stack(this->batch, spec);
    } catch (...) {
      queue.put_back(&this->batch, this->batch.size());
      throw;
    }
  }
};

}  // namespace leat::detail
