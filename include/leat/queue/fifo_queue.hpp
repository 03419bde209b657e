#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "leat/queue/basic_queue.hpp"
#include "leat/queue/detail/ring_order.hpp"

namespace leat {

/// A bounded queue from which items leave in the order in which they entered.
///
///     leat::fifo_queue<std::string> lines(64, "lines");
///     co_await lines.push("a");                              // in a producer
///     while (auto line = co_await lines.pop()) use(*line);   // in a consumer, until lines.close()
///
/// See basic_queue for the operations and their contract; queue_weigher for a bound by weight.
///
/// TensorFlow: FIFOQueue.
template <class T, queue_weigher<T> Weigh = unweighed>
class fifo_queue final
    : public basic_queue<T, detail::ring_order<detail::stored_item<T, Weigh>>, Weigh> {
  using base = basic_queue<T, detail::ring_order<detail::stored_item<T, Weigh>>, Weigh>;

 public:
  using options_type = queue_options;
  static constexpr const char* kind = "fifo_queue";  ///< for messages

  /// `capacity` in items, or `unbounded`; `name` for messages and dumps.
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  explicit fifo_queue(std::size_t capacity, std::string name = {})
      : fifo_queue(queue_options{.capacity = capacity, .name = std::move(name)}) {}

  /// Errors: invalid_argument for a capacity or a max_weight of 0, or one of weight without a
  ///         weigher; std::bad_alloc.
  explicit fifo_queue(const queue_options& options, Weigh weigh = {})
      : base(options, 0, std::move(weigh)) {}

  /// Rejected: a queue needs a capacity.
  template <class Missing = void>
  fifo_queue() : fifo_queue(detail::missing_capacity<Missing>()) {}
};

}  // namespace leat
