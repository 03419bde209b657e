// metrics() of queues and primitives; those of schedulers are in tests/async.

#include <optional>
#include <string>

#include "leat/async/dump/metrics.hpp"
#include "leat/async/task_group.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"

namespace queue_metrics_test {

using leat::fifo_queue;
using leat::metrics;

TEST_CASE("metrics: a queue reports its items and its capacity", "[queue]") {
  fifo_queue<int> queue(4, "metrics a");
  REQUIRE(queue.try_push(1));
  REQUIRE(queue.try_push(2));
  REQUIRE(queue.try_pop());
  const std::string text = metrics();
  CHECK(contains(text, "\nleat_queues{queue=\"metrics a\"} 1\n"));
  CHECK(contains(text, "\nleat_queue_items{queue=\"metrics a\"} 1\n"));
  CHECK(contains(text, "\nleat_queue_capacity_items{queue=\"metrics a\"} 4\n"));
  CHECK(contains(text, "\nleat_queue_peak_items{queue=\"metrics a\"} 2\n"));
  CHECK(contains(text, "\nleat_queue_pushed_items_total{queue=\"metrics a\"} 2\n"));
  CHECK(contains(text, "\nleat_queue_taken_items_total{queue=\"metrics a\"} 1\n"));
}

TEST_CASE("metrics: queues of one name share a series, and an unbounded one makes it so",
          "[queue]") {
  fifo_queue<int> first(4, "metrics b");
  fifo_queue<int> second(leat::unbounded, "metrics b");
  REQUIRE(first.try_push(1));
  REQUIRE(second.try_push(2));
  const std::string text = metrics();
  CHECK(contains(text, "\nleat_queues{queue=\"metrics b\"} 2\n"));
  CHECK(contains(text, "\nleat_queue_items{queue=\"metrics b\"} 2\n"));
  CHECK(contains(text, "\nleat_queue_peak_items{queue=\"metrics b\"} 1\n"));
  CHECK(contains(text, "\nleat_queue_capacity_items{queue=\"metrics b\"} +Inf\n"));
}

TEST_CASE("metrics: names that are not UTF-8 do not give duplicate series", "[queue]") {
  const fifo_queue<int> first(4, "metrics f\xff\n\"\\");
  const fifo_queue<int> second(4, "metrics f\xfe\n\"\\");
  const std::string text = metrics();
  CHECK(contains(text, "\nleat_queues{queue=\"metrics f?\\n\\\"\\\\\"} 2\n"));
}

TEST_CASE("metrics: the counters of a destroyed queue remain while its name exists", "[queue]") {
  const std::string pushed = "\nleat_queue_pushed_items_total{queue=\"metrics c\"} ";
  std::optional<fifo_queue<int>> first(std::in_place, 4, "metrics c");
  fifo_queue<int> second(4, "metrics c");
  REQUIRE(first->try_push(1));
  CHECK(contains(metrics(), pushed + "1\n"));
  first.reset();
  REQUIRE(second.try_push(2));
  CHECK(contains(metrics(), pushed + "2\n"));
  {
    fifo_queue<int> between_two_calls(4, "metrics c");
    REQUIRE(between_two_calls.try_push(3));
  }
  CHECK(contains(metrics(), pushed + "3\n"));
  CHECK(contains(metrics(), pushed + "3\n"));
}

TEST_CASE("metrics: the counters of a name start over after its last queue was destroyed",
          "[queue]") {
  const std::string pushed = "\nleat_queue_pushed_items_total{queue=\"metrics d\"} ";
  {
    fifo_queue<int> queue(4, "metrics d");
    REQUIRE(queue.try_push(1));
    CHECK(contains(metrics(), pushed + "1\n"));
  }
  CHECK_FALSE(contains(metrics(), "metrics d"));
  const fifo_queue<int> queue(4, "metrics d");
  CHECK(contains(metrics(), pushed + "0\n"));
}

TEST_CASE("metrics: a queue that the threads of two schedulers use is read while they run",
          "[queue]") {
  leat::runtime rt({.threads = 2});
  fifo_queue<int> queue(4, "metrics e");
  rt.block_on([](leat::runtime& runs, fifo_queue<int>& q) -> task<> {
    leat::task_group group;
    group.spawn_on(runs.get_scheduler(1), [](fifo_queue<int>& from) -> task<> {
      while (co_await from.pop()) {
      }
    }(q));
    for (int i = 0; i < 100; ++i) {
      co_await q.push(i);
      if (i % 10 == 0) static_cast<void>(metrics());
    }
    q.close();
    co_await group.join();
  }(rt, queue));
  CHECK(contains(metrics(), "\nleat_queue_taken_items_total{queue=\"metrics e\"} 100\n"));
}

// With the names that metrics() keeps, the end of a queue reads its counters under a lock.
TEST_CASE("metrics: the end of a queue in a simulation does not depend on earlier calls",
          "[queue]") {
  const auto order_of = [](std::uint64_t seed) {
    std::string order;
    leat::sim::world w(seed, {.threads = 2, .preemption = 1});
    w.run([&order](leat::sim::world& in) -> task<> {
      const auto make_queues = [&order](char name) -> task<> {
        for (int i = 0; i < 8; ++i) {
          fifo_queue<int> own(1, "own");
          co_await own.push(i);
          order += name;
        }
      };
      leat::task_group group;
      group.spawn_on(in.thread(0), make_queues('a'));
      group.spawn_on(in.thread(1), make_queues('b'));
      co_await group.join();
    });
    return order;
  };
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string before = order_of(seed);
    {
      const fifo_queue<int> of_this_name(1, "own");
      static_cast<void>(metrics());
    }
    CHECK(order_of(seed) == before);
    static_cast<void>(metrics());
  }
}

}  // namespace queue_metrics_test
