// Pops next to an operation that cannot be undone, on real threads, while the queue is closed.
// Every item arrives once, and none returns after a pop has reported the end.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "async/fake_operations.hpp"
#include "leat/async.hpp"
#include "leat/base/random.hpp"
#include "leat/queue.hpp"
#include "queue/orders.hpp"
#include "support/effort.hpp"

namespace provisional_pops_test {

using namespace std::chrono_literals;
using leat::task;
using leat_test::transfer;
using leat_test::transfer_script;

struct by_value {
  std::size_t operator()(int item) const { return static_cast<std::size_t>(item); }
};

constexpr int items = 6;
constexpr int selects = 4;

// Selects a few times, and leaves the rest to the other consumers.
template <class Queue>
task<> select_some(Queue& q, std::uint64_t seed, std::atomic<int>& taken) {
  leat::random_engine random(seed);
  for (int i = 0; i < selects; ++i) {
    transfer_script script;
    script.takes = 1us * random.uniform_below(300);
    script.cancel_takes = 1us * random.uniform_below(20);
    script.completes_all_the_same = random.uniform_below(2) == 0;
    if (random.uniform_below(2) == 0) {
      const auto done = co_await leat::select(q.pop(), transfer{script});
      if (done.index() == 0 && !std::get<0>(done)) co_return;
      if (done.index() == 0) ++taken;
    } else {
      const auto done = co_await leat::select(transfer{script}, q.pop_up_to(2));
      if (done.index() == 1 && !std::get<1>(done)) co_return;
      if (done.index() == 1) taken += static_cast<int>(std::get<1>(done)->size());
    }
  }
}

template <class Queue>
void run_rounds(const typename Queue::options_type& options) {
  leat::runtime rt({.threads = 2});
  for (std::uint64_t round = 0; round < leat_test::scaled_count(1000); ++round) {
    Queue q(options);
    std::atomic<int> taken{0};
    leat::task_group group;
    for (std::size_t i = 0; i < 2; ++i) {
      group.spawn_on(rt.get_scheduler(i), select_some(q, 2 * round + i, taken));
    }
    std::thread producer([&] {
      for (int i = 1; i <= items; ++i) leat::block_on(q.push(i));
      q.close();
    });
    while (leat::block_on(q.pop())) ++taken;
    const auto at_end = q.statistics();
    producer.join();
    leat::block_on(group.join());
    REQUIRE(at_end.size == 0);
    REQUIRE(at_end.held == 0);
    REQUIRE(taken == items);
    REQUIRE(q.statistics().popped == items);
  }
}

TEMPLATE_LIST_TEST_CASE("provisional pop: a queue of several threads loses no item", "[stress]",
                        queue_orders::all) {
  using less = std::greater<int>;
  run_rounds<typename TestType::template queue<int, leat::unweighed, less>>(
      TestType::options({.capacity = 2}));
  // Two items, the most that a pop takes, are never heavier than this.
  run_rounds<typename TestType::template queue<int, by_value, less>>(
      TestType::options({.max_weight = 12, .capacity = 3}));
}

}  // namespace provisional_pops_test
