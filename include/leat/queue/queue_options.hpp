#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

#include "leat/base/braced.hpp"
#include "leat/queue/queue_statistics.hpp"

namespace LEAT {

class memory_budget;

/// The weight function type of a queue that limits only the number of its items.
struct unweighed {};

/// The requirements on a queue's item type: it must be movable and destructible without throwing,
/// so that no item is lost halfway.
template <class T>
concept queue_element = std::is_nothrow_move_constructible_v<T> &&
                        std::is_nothrow_move_assignable_v<T> && std::is_nothrow_destructible_v<T>;

/// A weight function: computes the weight of an item, in bytes or in another unit that you want to
/// limit.
///
///     struct by_size {
///       std::size_t operator()(const std::string& s) const { return s.size(); }
///     };
///     leat::fifo_queue<std::string, by_size> lines({.capacity = 64, .max_weight = 1 << 20});
///
/// A push calls the function once for each item, without a lock, so several threads may call it
/// concurrently. If the function throws, the push throws the same exception and has no effect.
template <class Weigh, class T>
concept queue_weigher =
    std::same_as<Weigh, unweighed> ||
    (std::copy_constructible<Weigh> && requires(const Weigh& weigh, const T& item) {
      { weigh(item) } -> std::convertible_to<std::size_t>;
    });

/// Options of a queue. `max_weight` and `budget` require a weight function.
struct queue_options {
  std::size_t capacity = 0;            ///< maximum number of stored items, or `unbounded`
  std::size_t max_weight = unbounded;  ///< maximum total weight of the stored items
  memory_budget* budget = nullptr;     ///< shared with other queues; must outlive them
  option_string name = {};             ///< shown in messages and dumps
};

namespace detail {

/// T, the type of a queue's items; rejects a type that is not a queue_element.
template <class T>
struct element_of_queue {
  static_assert(queue_element<T>,
                "queue element must be movable without throwing: declare the move constructor, the "
                "move assignment and the destructor noexcept, or queue a std::unique_ptr");
  using type = T;
};

/// Rejects, at compile time, a queue without a capacity.
template <class Missing>
std::size_t missing_capacity() {
  static_assert(!std::is_void_v<Missing>,
                "queue needs a capacity, in items: write fifo_queue<T> queue(64)");
  return 1;
}

}  // namespace detail

}  // namespace LEAT
