#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "leat/queue/basic_queue.hpp"
#include "leat/queue/detail/numbered_ring.hpp"

namespace LEAT {

/// A bounded queue that delivers items in the order in which they were added.
///
///     leat::fifo_queue<std::string> lines(64, "lines");
///     co_await lines.push("a");                              // in a producer
///     while (auto line = co_await lines.pop()) use(*line);   // in a consumer, until lines.close()
///
/// See basic_queue for the operations and their contract, and queue_weigher for a limit by weight.
///
/// TensorFlow: FIFOQueue.
template <class T, queue_weigher<T> Weigh = unweighed>
class fifo_queue final
    : public basic_queue<T, detail::numbered_ring<detail::stored_item<T, Weigh>>, Weigh> {
  using base = basic_queue<T, detail::numbered_ring<detail::stored_item<T, Weigh>>, Weigh>;

 public:
  using options_type = queue_options;
  static constexpr const char* kind = "fifo_queue";  ///< for messages

  /// Creates a queue. `capacity` is a number of items or `unbounded`; `name` appears in messages
  /// and dumps.
  ///
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  explicit fifo_queue(std::size_t capacity, std::string name = {})
      : fifo_queue(queue_options{.capacity = capacity, .name = std::move(name)}) {}

  /// Creates a queue from options.
  ///
  /// Errors: invalid_argument for a capacity or a max_weight of 0, or for a max_weight or a budget
  ///         without a weight function; std::bad_alloc.
  explicit fifo_queue(const queue_options& options, Weigh weigh = {})
      : base(options, 0, std::move(weigh)) {}

  /// Does not compile, because a queue needs a capacity.
  template <class Missing = void>
  fifo_queue() : fifo_queue(detail::missing_capacity<Missing>()) {}
};

}  // namespace LEAT
