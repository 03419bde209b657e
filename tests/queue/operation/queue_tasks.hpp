#pragma once

// Queues under test, and operations on them that run in their own tasks.

#include <algorithm>
#include <numeric>
#include <sstream>

#include "leat/queue.hpp"
#include "queue/orders.hpp"
#include "support/leat_test.hpp"

template <class Order>
struct queue_of_numbers {
  using queue = typename Order::template queue<int>;
  static queue make(std::size_t capacity) { return queue(Order::options({.capacity = capacity})); }
};
using fifo = queue_of_numbers<queue_orders::fifo>;
using shuffled = queue_of_numbers<queue_orders::shuffle>;
using prioritized = queue_of_numbers<queue_orders::priority>;
using all_queues = queue_orders::each<queue_of_numbers>;
// The queues in which a waiting batch takes each item as it arrives.
using holding_queues = queue_orders::each_holding<queue_of_numbers>;

inline std::vector<int> numbers(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

template <class Range>
std::vector<int> sorted(const Range& range) {
  std::vector<int> copy(range.begin(), range.end());
  std::sort(copy.begin(), copy.end());
  return copy;
}

// Returns the items of a batch, which must have arrived.
inline std::vector<int> sorted(const std::optional<std::vector<int>>& batch) {
  REQUIRE(batch);
  return sorted(*batch);
}

inline std::string described(const leat::queue_base& q) {
  std::ostringstream out;
  q.describe(out);
  return std::move(out).str();
}

// The result of one operation that runs in its own task.
struct outcome {
  bool ended = false;
  bool cancelled = false;
  std::size_t pushed = 0;  // push_many
  bool accepted = false;   // push
  bool empty = false;      // pop, pop_many
  std::vector<int> items;  // pop, pop_many
};

template <class Queue>
task<> push_one(Queue& q, int value, outcome& o) {
  try {
    o.accepted = co_await q.push(std::move(value));
  } catch (const leat::failure& e) {
    o.cancelled = e.code() == errc::cancelled;
  }
  o.ended = true;
}

template <class Queue>
task<> push_all(Queue& q, std::vector<int> values, outcome& o) {
  try {
    o.pushed = co_await q.push_many(values);
  } catch (const leat::partial_push_error& e) {
    o.cancelled = true;
    o.pushed = e.count();
  }
  o.ended = true;
}

template <class Queue>
task<> pop_one(Queue& q, outcome& o) {
  try {
    const auto item = co_await q.pop();
    if (item) o.items.push_back(*item);
    o.empty = !item;
  } catch (const leat::failure& e) {
    o.cancelled = e.code() == errc::cancelled;
  }
  o.ended = true;
}

template <class Queue>
task<> pop_some(Queue& q, std::size_t count, bool fewer_at_end, outcome& o) {
  try {
    std::optional<std::vector<int>> batch;
    if (fewer_at_end) {
      batch = co_await q.pop_up_to(count);
    } else {
      batch = co_await q.pop_many(count);
    }
    if (batch) o.items = *batch;
    o.empty = !batch;
  } catch (const leat::failure& e) {
    o.cancelled = e.code() == errc::cancelled;
  }
  o.ended = true;
}

// Lets every task run that can run.
inline task<> settle() {
  for (int i = 0; i < 8; ++i) co_await leat::this_task::yield();
}

template <class Body>
void on_virtual_time(Body body) {
  leat::sim::run(body());
}
