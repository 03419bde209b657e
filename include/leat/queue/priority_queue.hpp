#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "leat/queue/basic_queue.hpp"
#include "leat/queue/detail/heap_order.hpp"

namespace leat {

/// A bounded queue that gives its smallest item; of equal ones the one that entered first.
///
///     struct job { std::int64_t priority; std::string what; };
///     struct priority_less {
///       bool operator()(const job& a, const job& b) const { return a.priority < b.priority; }
///     };
///     leat::priority_queue<job, priority_less> jobs(64, "jobs");
///
/// A batch is in order, and is taken as a whole: pop_many(n) waits until n items are there together
/// and takes the smallest; so n may not be above the capacity. pop_up_to() the same, and once the
/// queue is closed it gives what is left.
///
/// By weight a batch may be too much as well: if the next item is too heavy to come in beside those
/// that are there, it is never complete and ends as resource_exhausted. With a memory_budget
/// only the try_ forms take batches: while a batch waits, the items in the queue keep memory that
/// others may wait for.
///
/// Less: a strict weak order. It is called under the queue's lock: it must not throw, nor use the
/// queue. Compares and moves: O(log size) an item.
///
/// See basic_queue for the operations and their contract; queue_weigher for a bound by weight.
///
/// Errors: invalid_argument, thrown by a batch pop of more items than the capacity, or with a
/// budget.
/// TensorFlow: PriorityQueue; equal priorities in order of entry.
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

  /// `capacity` in items, or `unbounded`; `name` for messages and dumps.
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  explicit priority_queue(std::size_t capacity, std::string name = {}, Less less_than = {})
      : priority_queue(queue_options{.capacity = capacity, .name = std::move(name)},
                       std::move(less_than)) {}

  /// Errors: invalid_argument for a capacity or a max_weight of 0, or one of weight without a
  ///         weigher; std::bad_alloc.
  explicit priority_queue(const queue_options& options, Less less_than = {}, Weigh weigh = {})
      : base(options, 0, std::move(weigh), less{std::move(less_than)}) {}

  /// Rejected: a queue needs a capacity.
  template <class Missing = void>
  priority_queue() : priority_queue(detail::missing_capacity<Missing>()) {}
};

}  // namespace leat
