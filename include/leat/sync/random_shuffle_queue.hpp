#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "leat/core/error.hpp"
#include "leat/core/random.hpp"
#include "leat/sync/basic_queue.hpp"
#include "leat/sync/detail/shuffle_order.hpp"

namespace leat {

/// How a random_shuffle_queue is made.
struct shuffle_options {
  std::size_t capacity = 0;                ///< items that may be stored, or `unbounded`
  std::size_t min_after_dequeue = 0;       ///< items that stay in while the queue is open
  std::optional<std::uint64_t> seed = {};  ///< none: another order each time
  std::string name = {};                   ///< for messages and dumps
};

/// A bounded queue that gives a random one of its items, each equally likely.
///
/// While it is open, an item is taken only if more than `min_after_dequeue` are stored: the more
/// stay in, the better the mixing. close() lifts that, and everything drains. With a seed, the same
/// calls in the same order give the same items, on every platform. Memory: up to twice the capacity
/// times sizeof(T), kept once it was full.
///
/// See basic_queue for the operations and their contract.
///
/// Source: RandomShuffleQueue.
template <queue_element T>
class random_shuffle_queue final : public basic_queue<T, detail::shuffle_order<T>> {
 public:
  /// Errors: invalid_argument for a capacity of 0 or a minimum that is not below it.
  explicit random_shuffle_queue(shuffle_options options)
      : basic_queue<T, detail::shuffle_order<T>>(checked(options).capacity,
                                                 options.min_after_dequeue, options.name,
                                                 random_engine(seed_or_entropy(options.seed))) {}

 private:
  static const shuffle_options& checked(const shuffle_options& o) {
    if (o.min_after_dequeue >= o.capacity && o.capacity > 0) {
      throw failure(errc::invalid_argument, "queue '" + o.name + "': min_after_dequeue (" +
                                                std::to_string(o.min_after_dequeue) +
                                                ") must be below the capacity (" +
                                                std::to_string(o.capacity) + ")");
    }
    return o;
  }
};

}  // namespace leat
