#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "leat/base/braced.hpp"
#include "leat/base/error.hpp"
#include "leat/base/random.hpp"
#include "leat/queue/basic_queue.hpp"
#include "leat/queue/detail/shuffle_order.hpp"

namespace leat {

/// How a random_shuffle_queue is made.
struct shuffle_options {
  std::size_t capacity = 0;                ///< items that may be stored, or `unbounded`
  std::size_t min_after_dequeue = 0;       ///< items that stay in while the queue is open
  std::optional<std::uint64_t> seed = {};  ///< none: another order each time
  braced<std::string> name = {};           ///< for messages and dumps
  std::size_t max_weight = unbounded;      ///< of all stored items together; needs a weigher
  memory_budget* budget = nullptr;         ///< shared with other queues; must outlive them
};

/// A bounded queue that gives a random one of its items, each equally likely.
///
/// While it is open, an item is taken only if more than `min_after_dequeue` are stored: the more
/// stay in, the better the mixing. close() lifts that, and everything drains. With a seed, the same
/// calls in the same order give the same items, on every platform. Memory: up to twice the capacity
/// times sizeof(T), kept once it was full.
///
/// By weight there may be no room for as many as min_after_dequeue: while a push waits for weight
/// in this queue, or somebody for its budget, items are taken below the minimum, too.
///
/// See basic_queue for the operations and their contract; queue_weigher for a bound by weight.
///
/// TensorFlow: RandomShuffleQueue.
template <class T, queue_weigher<T> Weigh = unweighed>
class random_shuffle_queue final
    : public basic_queue<T, detail::shuffle_order<detail::stored_item<T, Weigh>>, Weigh> {
  using base = basic_queue<T, detail::shuffle_order<detail::stored_item<T, Weigh>>, Weigh>;

 public:
  using options_type = shuffle_options;
  static constexpr const char* kind = "random_shuffle_queue";  ///< for messages

  /// `capacity` in items, or `unbounded`; `name` for messages and dumps.
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  explicit random_shuffle_queue(std::size_t capacity, std::string name = {})
      : random_shuffle_queue(shuffle_options{.capacity = capacity, .name = std::move(name)}) {}

  /// Errors: invalid_argument for a capacity or a max_weight of 0, a minimum that is not below the
  ///         capacity, or one of weight without a weigher.
  explicit random_shuffle_queue(shuffle_options options, Weigh weigh = {})
      : base(checked(options), options.min_after_dequeue, std::move(weigh),
             random_engine(seed_or_random(options.seed))) {}

  /// Rejected: a queue needs a capacity.
  template <class Missing = void>
  random_shuffle_queue() : random_shuffle_queue(detail::missing_capacity<Missing>()) {}

 private:
  static queue_options checked(const shuffle_options& o) {
    if (o.min_after_dequeue >= o.capacity && o.capacity > 0) {
      throw failure(errc::invalid_argument, "queue '" + o.name + "': min_after_dequeue (" +
                                                std::to_string(o.min_after_dequeue) +
                                                ") must be below the capacity (" +
                                                std::to_string(o.capacity) + ")");
    }
    return {.capacity = o.capacity, .max_weight = o.max_weight, .budget = o.budget, .name = o.name};
  }
};

}  // namespace leat
