#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "leat/sync/basic_queue.hpp"
#include "leat/sync/detail/ring_order.hpp"

namespace leat {

/// A bounded queue from which items leave in the order in which they entered.
///
///     leat::fifo_queue<std::string> lines(64, "lines");
///     co_await lines.push("a");                              // in a producer
///     while (auto line = co_await lines.pop()) use(*line);   // in a consumer, until lines.close()
///
/// See basic_queue for the operations and their contract.
///
/// Source: FIFOQueue.
template <queue_element T>
class fifo_queue final : public basic_queue<T, detail::ring_order<T>> {
 public:
  /// `capacity` in items, or `unbounded`; `name` for messages and dumps.
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  explicit fifo_queue(std::size_t capacity, std::string name = {})
      : basic_queue<T, detail::ring_order<T>>(capacity, 0, std::move(name)) {}
};

}  // namespace leat
