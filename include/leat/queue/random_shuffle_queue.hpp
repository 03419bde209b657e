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

namespace LEAT {

/// Options of a random_shuffle_queue.
struct shuffle_options {
  std::size_t capacity = 0;                ///< maximum number of stored items, or `unbounded`
  std::size_t min_after_dequeue = 0;       ///< items that pops leave in the queue while it is open
  std::optional<std::uint64_t> seed = {};  ///< if not set, a random seed is used
  std::size_t max_weight = unbounded;      ///< maximum weight of the items, by a weight function
  memory_budget* budget = nullptr;         ///< shared with other queues; must outlive them
  option_string name = {};                 ///< shown in messages and dumps
};

/// A bounded queue that delivers its items in random order. Each stored item is equally likely to
/// be the next.
///
/// While the queue is open, a pop waits unless more than `min_after_dequeue` items are stored. A
/// larger minimum mixes the items better. After close() the minimum no longer applies, and all
/// items are delivered. With a seed, the same calls in the same order return the same items on
/// every platform.
///
/// Weight: weight limits may leave too little capacity for `min_after_dequeue` items. While a push
/// to this queue waits for weight, or any push waits for the budget, pops may therefore also remove
/// items below the minimum.
///
/// See basic_queue for the operations and their contract, and queue_weigher for a limit by weight.
///
/// Cost: memory for up to twice the capacity times sizeof(T), which a queue that was full keeps.
///
/// TensorFlow: RandomShuffleQueue.
template <class T, queue_weigher<T> Weigh = unweighed>
class random_shuffle_queue final
    : public basic_queue<T, detail::shuffle_order<detail::stored_item<T, Weigh>>, Weigh> {
  using base = basic_queue<T, detail::shuffle_order<detail::stored_item<T, Weigh>>, Weigh>;

 public:
  using options_type = shuffle_options;
  static constexpr const char* kind = "random_shuffle_queue";  ///< for messages

  /// Creates a queue. `capacity` is a number of items or `unbounded`; `name` appears in messages
  /// and dumps.
  ///
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  explicit random_shuffle_queue(std::size_t capacity, std::string name = {})
      : random_shuffle_queue(shuffle_options{.capacity = capacity, .name = std::move(name)}) {}

  /// Creates a queue from options.
  ///
  /// Errors: invalid_argument for a capacity or a max_weight of 0, for a minimum that is not less
  ///         than the capacity, or for a max_weight or a budget without a weight function;
  ///         std::bad_alloc.
  explicit random_shuffle_queue(shuffle_options options, Weigh weigh = {})
      : base(checked(options), options.min_after_dequeue, std::move(weigh),
             random_engine(seed_or_random(options.seed))) {}

  /// Does not compile, because a queue needs a capacity.
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

}  // namespace LEAT
