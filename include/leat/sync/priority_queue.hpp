#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "leat/sync/basic_queue.hpp"
#include "leat/sync/detail/heap_order.hpp"

namespace leat {

/// A bounded queue that gives its smallest item; of equal ones the one that entered first.
///
///     struct job { std::int64_t priority; std::string what; };
///     struct by_priority {
///       bool operator()(const job& a, const job& b) const { return a.priority < b.priority; }
///     };
///     leat::priority_queue<job, by_priority> jobs(64, "jobs");
///
/// A batch is in order, and is taken as a whole: pop_many(n) waits until n items are there together
/// and takes the smallest; so n may not be above the capacity. pop_up_to() the same, and once the
/// queue is closed it gives what is left.
///
/// Less: a strict weak order. It is called under the queue's lock: it must not throw, nor use the
/// queue. Compares and moves: O(log size) an item.
///
/// See basic_queue for the operations and their contract.
///
/// Errors: invalid_argument, thrown by a batch pop of more items than the capacity.
/// Source: PriorityQueue; equal priorities in order of entry.
template <queue_element T, class Less = std::less<T>>
class priority_queue final : public basic_queue<T, detail::heap_order<T, Less>> {
 public:
  /// `capacity` in items, or `unbounded`; `name` for messages and dumps.
  /// Errors: invalid_argument for a capacity of 0; std::bad_alloc.
  explicit priority_queue(std::size_t capacity, std::string name = {}, Less less = {})
      : basic_queue<T, detail::heap_order<T, Less>>(capacity, 0, std::move(name), std::move(less)) {
  }
};

}  // namespace leat
