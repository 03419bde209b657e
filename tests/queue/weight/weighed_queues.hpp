#pragma once

// Queues under test with a weight function. The weight of an item is its value.

#include <string>
#include <utility>

#include "leat/queue/memory_budget.hpp"
#include "queue/operation/queue_actors.hpp"
#include "queue/orders.hpp"
#include "support/leat_test.hpp"

struct by_value {
  std::size_t operator()(int item) const { return static_cast<std::size_t>(item); }
};

template <class Order>
struct weighed_by_value {
  using queue = typename Order::template queue<int, by_value>;
  static queue make(queue_orders::settings s, std::string name = "q") {
    s.name = std::move(name);
    return queue(Order::options(s));
  }
};
using weighed_fifo = weighed_by_value<queue_orders::fifo>;
using weighed_shuffled = weighed_by_value<queue_orders::shuffle>;
using weighed_prioritized = weighed_by_value<queue_orders::priority>;
using weighed_queues = queue_orders::each<weighed_by_value>;
using weighed_holding_queues = queue_orders::each_holding<weighed_by_value>;
