#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "leat/queue/detail/queue_operations.hpp"
#include "leat/tensor/element_spec.hpp"
#include "leat/tensor/stacking.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT::detail {

// Built on the operations of the queue, which include its weights.

/// A pop of many elements as one batch. The receiver stacks the batch when all elements have
/// arrived.
template <class PopMany>
struct pop_batch_operation : PopMany {
  template <class Queue>
  pop_batch_operation(Queue* q, std::size_t count, const element_spec& s)
      : PopMany{q, count}, spec(s) {}

  const element_spec& spec;

  [[nodiscard]] std::optional<tensor_tuple> result(wait_outcome o) {
    if (o != wait_outcome::done) return std::nullopt;
    try {
      return stack(this->batch, spec);
    } catch (...) {
      this->put_back(&this->batch, this->batch.size());
      throw;
    }
  }
};

}  // namespace LEAT::detail
