#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "leat/queue/basic_queue.hpp"
#include "leat/queue/detail/heap_order.hpp"

namespace LEAT {

/// A bounded queue that delivers its smallest item first. Equal items are delivered in the order in
/// which they were added.
///
///     struct job { std::int64_t priority; std::string what; };
///     struct priority_less {
///       bool operator()(const job& a, const job& b) const { return a.priority < b.priority; }
///     };
///     leat::priority_queue<job, priority_less> jobs(64, "jobs");
///
/// Batches: the items of a batch are sorted and are removed together. `pop_many(n)` waits until n
/// items are stored and then removes the n smallest, so n must not exceed the capacity.
/// `pop_up_to(n)` does the same, but returns the remaining items once the queue is closed.
///
/// Weight: a limit by weight can make a batch impossible. If the next item is too heavy to be added
/// to the stored ones, the batch can never be complete and fails with resource_exhausted. With a
/// memory_budget, only the try_ forms accept batches of more than one item. A waiting batch would
/// keep its items, and their memory, in the queue while other operations may wait for that memory.
///
/// Less is a strict weak order. The queue calls it under its lock, so it must not throw and must
/// not use the queue.
///
/// See basic_queue for the operations and their contract, and queue_weigher for a limit by weight.
///
/// Errors: invalid_argument for a batch pop, except in its try_ form, of more items than the
///         capacity, or of more than one item with a budget.
/// Cost: O(log size) comparisons and moves per item.
/// TensorFlow: PriorityQueue. Equal priorities are delivered in the order in which they were added.
template <class T, class Less = std::less<T>, queue_weigher<T> Weigh = unweighed>
class priority_queue final
    : public basic_queue<
          T, detail::heap_order<detail::stored_item<T, Weigh>, detail::stored_less<T, Less, Weigh>>,
          Weigh> {
  using less = detail::stored_less<T, Less, Weigh>;
  using base = basic_queue<T, detail::heap_order<detail::stored_item<T, Weigh>, less>, Weigh>;

 public:
  using options_type = queue_options;
  static constexpr const char* kind = "priority_queue";  ///< for messages

  /// Creates a queue. `capacity` is a number of items or `unbounded`; `name` appears in messages
  /// and dumps.
  ///
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  explicit priority_queue(std::size_t capacity, std::string name = {}, Less less_than = {})
      : priority_queue(queue_options{.capacity = capacity, .name = std::move(name)},
                       std::move(less_than)) {}

  /// Creates a queue from options.
  ///
  /// Errors: invalid_argument for a capacity or a max_weight of 0, or for a max_weight or a budget
  ///         without a weight function; std::bad_alloc.
  explicit priority_queue(const queue_options& options, Less less_than = {}, Weigh weigh = {})
      : base(options, 0, std::move(weigh), less{std::move(less_than)}) {}

  /// Does not compile, because a queue needs a capacity.
  template <class Missing = void>
  priority_queue() : priority_queue(detail::missing_capacity<Missing>()) {}
};

}  // namespace LEAT
