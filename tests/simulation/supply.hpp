#pragma once

#include "simulation/steps.hpp"

// Two queues whose items must arrive once, for scenarios that end waits early.
namespace simulation {

inline int number_of(int item) { return item; }
inline int number_of(const std::unique_ptr<int>& item) { return *item; }

/// The queues, the tasks between them, and the numbers of the items that went in and came out.
template <class Item>
struct supply {
  explicit supply(leat::sim::world& of)
      : w(of), items(1 + below(of, 3), "items"), others(items.capacity(), "others") {
    w.add_invariants(items);
    w.add_invariants(others);
  }

  void keep(const std::optional<Item>& item) {
    if (item) popped.push_back(number_of(*item));
  }

  /// Starts a producer for each queue, and two consumers.
  template <class Produce, class Consume>
  void start(Produce produce, Consume consume) {
    producers.spawn_on(any_thread(w), produce(w, items, pushed, 0), "items");
    producers.spawn_on(any_thread(w), produce(w, others, pushed, 100), "others");
    for (int i = 0; i < 2; ++i) consumers.spawn_on(any_thread(w), consume(w, *this), "consumer");
  }

  void close() {
    items.close();
    others.close();
  }

  /// Joins the consumers, then the producers, and checks that each pushed item was popped once or
  /// is left.
  leat::task<> end() {
    const std::exception_ptr error = co_await join_and_close(consumers, producers, [this] {
      items.close_and_cancel();
      others.close_and_cancel();
    });
    w.clear_invariants();
    if (error) std::rethrow_exception(error);
    while (const std::optional<Item> left = items.try_pop()) keep(left);
    while (const std::optional<Item> left = others.try_pop()) keep(left);
    require_same(popped, pushed);
  }

  leat::sim::world& w;
  leat::fifo_queue<Item> items;
  leat::fifo_queue<Item> others;
  std::vector<int> pushed{};
  std::vector<int> popped{};
  leat::task_group producers{"producers"};
  leat::task_group consumers{"consumers"};
};

}  // namespace simulation
