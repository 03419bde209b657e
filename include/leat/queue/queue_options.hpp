#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>

#include "leat/base/braced.hpp"
#include "leat/queue/queue_statistics.hpp"

namespace leat {

class memory_budget;

/// The weigher of a queue that counts its items and does not weigh them.
struct unweighed {};

/// What can go through a queue. Moving must not fail: an item that is under way belongs to exactly
/// one place.
template <class T>
concept queue_element = std::is_nothrow_move_constructible_v<T> &&
                        std::is_nothrow_move_assignable_v<T> && std::is_nothrow_destructible_v<T>;

/// Says what an item weighs, in bytes or whatever else is to be limited:
///
///     struct by_size {
///       std::size_t operator()(const std::string& s) const { return s.size(); }
///     };
///     leat::fifo_queue<std::string, by_size> lines({.capacity = 64, .max_weight = 1 << 20});
///
/// It is asked once for each item, when the item is pushed, under no lock and by several threads at
/// the same time. What it throws the push throws, and nothing has happened.
template <class Weigh, class T>
concept queue_weigher =
    std::same_as<Weigh, unweighed> ||
    (std::copy_constructible<Weigh> && requires(const Weigh& weigh, const T& item) {
      { weigh(item) } -> std::convertible_to<std::size_t>;
    });

/// How a queue is made; max_weight and budget are for queues with a weigher.
struct queue_options {
  std::size_t capacity = 0;            ///< items that may be stored, or `unbounded`
  std::size_t max_weight = unbounded;  ///< of all stored items together
  memory_budget* budget = nullptr;     ///< shared with other queues; must outlive them
  braced<std::string> name = {};       ///< for messages and dumps
};

namespace detail {

/// T, the type of a queue's elements; rejects a type that is no queue_element.
template <class T>
struct element_of_queue {
  static_assert(queue_element<T>,
                "a queue moves its elements, and moving one must not throw: declare the move "
                "constructor, the move assignment and the destructor noexcept, or queue a "
                "std::unique_ptr");
  using type = T;
};

/// The capacity of a queue that is made without one: an error that says so.
template <class Missing>
std::size_t missing_capacity() {
  static_assert(!std::is_void_v<Missing>,
                "a queue needs a capacity, in items: write fifo_queue<T> queue(64)");
  return 1;
}

}  // namespace detail

}  // namespace leat
