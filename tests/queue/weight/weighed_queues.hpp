#pragma once

// Queues under test with a weight function. The weight of an item is its value.

#include <functional>
#include <tuple>

#include "leat/queue/memory_budget.hpp"
#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

struct by_value {
  std::size_t operator()(int item) const { return static_cast<std::size_t>(item); }
};

struct weighed_limits {
  std::size_t max_weight = leat::unbounded;
  leat::memory_budget* budget = nullptr;
  std::size_t capacity = 100;
};

template <class Queue>
struct weighed_by_value {
  using queue = Queue;
  static queue make(const weighed_limits& l, const std::string& name = "q") {
    return queue(
        {.capacity = l.capacity, .max_weight = l.max_weight, .budget = l.budget, .name = name});
  }
};
using weighed_fifo = weighed_by_value<leat::fifo_queue<int, by_value>>;
using weighed_prioritized = weighed_by_value<leat::priority_queue<int, std::less<int>, by_value>>;
struct weighed_shuffled {
  using queue = leat::random_shuffle_queue<int, by_value>;
  static queue make(const weighed_limits& l, const std::string& name = "q",
                    std::size_t minimum = 0) {
    return queue({.capacity = l.capacity,
                  .min_after_dequeue = minimum,
                  .seed = 7,
                  .max_weight = l.max_weight,
                  .budget = l.budget,
                  .name = name});
  }
};
using weighed_queues = std::tuple<weighed_fifo, weighed_shuffled, weighed_prioritized>;
using weighed_holding_queues = std::tuple<weighed_fifo, weighed_shuffled>;
