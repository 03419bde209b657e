// Queues that share a budget between real threads, with concurrent stops and destructions. Their
// weight never exceeds the budget, no item is lost, and no operation is left waiting.

#include "leat/queue/memory_budget.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async.hpp"
#include "leat/base/error.hpp"
#include "leat/queue.hpp"

namespace memory_budget_test {

using namespace std::chrono_literals;
using leat::task;

struct by_value {
  std::size_t operator()(int item) const { return static_cast<std::size_t>(item); }
};
using fifo = leat::fifo_queue<int, by_value>;
using shuffled = leat::random_shuffle_queue<int, by_value>;

constexpr int each = 5000;
constexpr long sum_of_each = each / 10 * 55L;

template <class Queue>
task<> push_each(Queue& q) {
  for (int i = 0; i < each; ++i) co_await q.push(1 + i % 10);
}

template <class Queue>
task<> pop_each(Queue& q, std::atomic<long>& sum) {
  while (const std::optional<int> item = co_await q.pop()) sum += *item;
}

task<> pop_batches(fifo& q, std::atomic<long>& sum) {
  while (const auto batch = co_await q.pop_up_to(3)) {
    for (const int item : *batch) sum += item;
  }
}

TEST_CASE("memory_budget: tasks and threads can use queues with a shared budget", "[stress]") {
  leat::memory_budget ram(25, "ram");
  fifo a({.capacity = 8, .budget = &ram, .name = "a"});
  shuffled b({.capacity = 8, .min_after_dequeue = 4, .seed = 3, .budget = &ram, .name = "b"});
  fifo c({.capacity = leat::unbounded, .max_weight = 20, .budget = &ram, .name = "c"});
  std::atomic<long> sum{0};
  std::atomic<bool> exceeded{false};
  std::atomic<bool> done{false};
  leat::runtime rt({.threads = 3});
  leat::task_group producers;
  leat::task_group consumers;
  producers.spawn_on(rt.get_scheduler(0), push_each(a));
  producers.spawn_on(rt.get_scheduler(1), push_each(b));
  producers.spawn_on(rt.get_scheduler(2), push_each(b));
  consumers.spawn_on(rt.get_scheduler(1), pop_each(a, sum));
  consumers.spawn_on(rt.get_scheduler(0), pop_each(b, sum));
  consumers.spawn_on(rt.get_scheduler(2), pop_batches(c, sum));
  std::jthread pusher([&] {
    for (int i = 0; i < each; ++i) leat::block_on(c.push(1 + i % 10));
  });
  std::jthread watcher([&] {
    while (!done) {
      const auto s = ram.statistics();
      if (s.used > s.limit + s.returned) exceeded = true;
      std::this_thread::yield();
    }
  });
  leat::block_on(producers.join());
  pusher.join();
  a.close();
  b.close();
  c.close();
  leat::block_on(consumers.join());
  done = true;
  watcher.join();
  CHECK(sum == 4 * sum_of_each);
  CHECK_FALSE(exceeded);
  CHECK(ram.used() == 0);
}

task<> push_until_stopped(fifo& q, std::atomic<long>& sum) {
  try {
    for (int i = 0;; ++i) {
      const bool in = co_await q.push(1 + i % 10);
      if (!in) co_return;
      sum += 1 + i % 10;
    }
  } catch (const leat::failure& e) {
    if (e.code() != leat::errc::cancelled) throw;
  }
}

TEST_CASE("memory_budget: stopping the producers of one queue lets those of another continue",
          "[stress]") {
  leat::memory_budget ram(10, "ram");
  fifo steady({.capacity = 8, .budget = &ram, .name = "steady"});
  fifo rough({.capacity = 8, .budget = &ram, .name = "rough"});
  std::atomic<long> in{0};
  std::atomic<long> out{0};
  leat::runtime rt({.threads = 2});
  leat::task_group producers;
  leat::task_group consumers;
  producers.spawn_on(rt.get_scheduler(0), push_each(steady));
  consumers.spawn_on(rt.get_scheduler(1), pop_each(steady, out));
  consumers.spawn_on(rt.get_scheduler(0), pop_each(rough, out));
  for (int round = 0; round < 100; ++round) {
    leat::task_group stopped;
    for (std::size_t i = 0; i < 3; ++i) {
      stopped.spawn_on(rt.get_scheduler(i % 2), push_until_stopped(rough, in));
    }
    std::this_thread::sleep_for(50us * (round % 5));
    stopped.request_stop();
    leat::block_on(stopped.join());
  }
  leat::block_on(producers.join());
  steady.close();
  rough.close();
  leat::block_on(consumers.join());
  CHECK(out == in + sum_of_each);
  CHECK(ram.used() == 0);
  CHECK(ram.statistics().peak <= 10);
}

TEST_CASE("memory_budget: queues can be created and destroyed while others wait for memory",
          "[stress]") {
  leat::memory_budget ram(10, "ram");
  fifo steady({.capacity = 8, .budget = &ram, .name = "steady"});
  std::jthread producer([&] {
    for (int i = 0; i < each; ++i) leat::block_on(steady.push(1 + i % 10));
    steady.close();
  });
  std::atomic<bool> done{false};
  std::vector<std::jthread> visitors;
  for (int v = 0; v < 2; ++v) {
    visitors.emplace_back([&] {
      while (!done) {
        fifo brief({.capacity = 2, .budget = &ram, .name = "brief"});
        static_cast<void>(brief.try_push(5));
        static_cast<void>(brief.try_push(3));
      }
    });
  }
  long sum = 0;
  while (const std::optional<int> item = leat::block_on(steady.pop())) sum += *item;
  done = true;
  visitors.clear();
  CHECK(sum == sum_of_each);
  CHECK(ram.used() == 0);
  CHECK(ram.statistics().queues == 1);
}

}  // namespace memory_budget_test
