// The invariants that world::add_invariants() checks for a queue and for a budget. Each is tested
// with statistics that violate it, and with the closest ones that do not.

#include <algorithm>

#include "leat/queue.hpp"
#include "leat/queue/detail/ring_order.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"

namespace world_invariants_test {

using leat::budget_statistics;
using leat::queue_statistics;
using leat::sim::world;

// Has the members that add_invariants() requires, and returns the given statistics.
template <class Statistics>
struct fake {
  Statistics counted = {};

  [[nodiscard]] std::string name() const { return "fake"; }
  [[nodiscard]] Statistics statistics() const noexcept { return counted; }
};

// Returns the message of a world that checks an object with these statistics, for a step and while
// no task can run. Returns an empty string if no invariant is violated.
template <class Statistics>
std::string told(const Statistics& counted) {
  fake<Statistics> subject;
  world w(1);
  w.add_invariants(subject);
  try {
    w.run([&](world&) -> task<> {
      subject.counted = counted;
      co_await leat::this_task::yield();
      co_await leat::sleep_for(1s);
      subject.counted = {};
    });
  } catch (const leat::sim::invariant_violation& e) {
    const std::string what = e.what();
    const auto begin = what.find("'fake' ");
    return begin == what.npos ? what : what.substr(begin + 7);
  }
  return {};
}

std::string of_queue(const queue_statistics& counted) { return told(counted); }
std::string of_budget(const budget_statistics& counted) { return told(counted); }

TEST_CASE("world: reports a queue with more items than its capacity") {
  const char* const words = "does not exceed its capacity";
  CHECK(of_queue({.size = 5, .capacity = 4, .pushed = 5}) == words);
  CHECK(of_queue({.size = 5, .capacity = 4, .pushed = 9, .popped = 4}) == words);
  CHECK(of_queue({.size = 4, .capacity = 4, .pushed = 4}).empty());
  CHECK(of_queue({.size = 6, .capacity = 4, .pushed = 6, .returned = 1}) == words);
  CHECK(of_queue({.size = 6, .capacity = 4, .pushed = 6, .returned = 2}).empty());
  CHECK(of_queue({.size = 6, .capacity = leat::unbounded, .pushed = 6, .returned = 2}).empty());
}

TEST_CASE("world: reports a queue that loses or duplicates an item") {
  const char* const words = "neither loses nor duplicates items";
  CHECK(of_queue({.size = 2, .capacity = 4, .held = 3, .pushed = 9, .popped = 4}).empty());
  CHECK(of_queue({.size = 2, .capacity = 4, .held = 3, .pushed = 10, .popped = 4}) == words);
  CHECK(of_queue({.size = 2, .capacity = 4, .held = 3, .pushed = 8, .popped = 4}) == words);
  CHECK(of_queue({.size = 1, .capacity = 4, .held = 3, .pushed = 9, .popped = 4}) == words);
  CHECK(of_queue({.size = 2, .capacity = 4, .held = 4, .pushed = 9, .popped = 4}) == words);
  CHECK(of_queue({.size = 2, .capacity = 4, .held = 3, .pushed = 9, .popped = 5}) == words);
  CHECK(of_queue({.capacity = 4, .held = 1, .provisional_pops = 1, .pushed = 1}).empty());
  CHECK(of_queue({.capacity = 4, .held = 1, .provisional_pops = 2, .pushed = 1}) == words);
}

TEST_CASE("world: reports a queue above its maximum weight") {
  const char* const words = "does not exceed its maximum weight";
  queue_statistics s{
      .size = 1, .capacity = 4, .pushed = 1, .weighed = true, .weight = 10, .max_weight = 10};
  CHECK(of_queue(s).empty());
  s.weight = 12;
  CHECK(of_queue(s) == words);
  s.returned_weight = 1;
  CHECK(of_queue(s) == words);
  s.returned_weight = 2;
  CHECK(of_queue(s).empty());
}

TEST_CASE("world: reports a queue that returns items below its minimum size") {
  const char* const words = "keeps its minimum size while it is open, if it has no weight function";
  queue_statistics s{.size = 2, .capacity = 4, .min_after_dequeue = 2, .pushed = 9, .popped = 7};
  CHECK(of_queue(s).empty());
  s.size = 1;
  s.popped = 8;
  CHECK(of_queue(s) == words);
  s.weighed = true;
  CHECK(of_queue(s).empty());
  s.weighed = false;
  s.closed = true;
  CHECK(of_queue(s).empty());
  CHECK(of_queue({.size = 1, .capacity = 4, .min_after_dequeue = 2, .pushed = 1}).empty());
}

TEST_CASE("world: reports a pop that waits for available items") {
  const char* const words = "has no waiting operation that could complete";
  queue_statistics s{.capacity = 4, .waiting_pops = 1, .awaited = 1};
  CHECK(of_queue(s).empty());
  s.size = 1;
  s.pushed = 1;
  CHECK(of_queue(s) == words);
  s.min_after_dequeue = 1;
  CHECK(of_queue(s).empty());
  s.min_after_dequeue = 0;
  s.awaited = 2;  // a batch that is delivered whole
  CHECK(of_queue(s).empty());
}

TEST_CASE("world: reports a push that waits for available capacity") {
  const char* const words = "has no waiting operation that could complete";
  queue_statistics s{.size = 4, .capacity = 4, .waiting_pushes = 1, .pushed = 4};
  CHECK(of_queue(s).empty());
  s.size = 3;
  s.pushed = 3;
  CHECK(of_queue(s) == words);
  s.waits_for_budget = true;
  CHECK(of_queue(s).empty());
  s.waits_for_budget = false;
  s.weighed = true;
  s.weight = 8;
  s.max_weight = 10;
  s.entering_weight = 3;
  CHECK(of_queue(s).empty());
  s.entering_weight = 2;
  CHECK(of_queue(s) == words);
}

TEST_CASE("world: reports a wait on a closed queue") {
  const char* const words = "has no waiting operation after close";
  queue_statistics s{.capacity = 4, .waiting_pops = 1, .awaited = 1};
  CHECK(of_queue(s).empty());
  s.closed = true;
  CHECK(of_queue(s) == words);
  CHECK(of_queue({.size = 4, .capacity = 4, .waiting_pushes = 1, .pushed = 4, .closed = true}) ==
        words);
  s.held = s.provisional_pops = s.pushed = 1;  // it may return
  CHECK(of_queue(s).empty());
  CHECK(of_queue({.size = 4, .capacity = 4, .pushed = 4, .closed = true}).empty());
}

TEST_CASE("world: reports a budget above its limit") {
  const char* const words = "does not exceed its limit";
  CHECK(of_budget({.limit = 10, .used = 10}).empty());
  CHECK(of_budget({.limit = 10, .used = 12}) == words);
  CHECK(of_budget({.limit = 10, .used = 12, .returned = 1}) == words);
  CHECK(of_budget({.limit = 10, .used = 12, .returned = 2}).empty());
}

TEST_CASE("world: reports a wait for a budget with enough memory") {
  const char* const words = "has no waiting operation that could complete";
  CHECK(of_budget({.limit = 10, .used = 8, .waiting = 1, .awaited = 3}).empty());
  CHECK(of_budget({.limit = 10, .used = 8, .waiting = 1, .awaited = 2}) == words);
  CHECK(of_budget({.limit = 10, .used = 8, .awaited = 2}).empty());
  CHECK(of_budget({.limit = 10, .used = 11, .waiting = 1, .returned = 1}).empty());
}

// Waits for five items of a queue that receives four, until it is stopped. The items that it held
// return to the queue.
template <class Queue>
task<> give_up_a_batch(Queue& q) {
  task_group patient;
  patient.spawn([](Queue& from) -> task<> {
    const auto none = co_await from.pop_many(5);  // throws if it is stopped
    CHECK_FALSE(none);
  }(q));
  std::vector<int> four{1, 2, 3, 4};
  co_await q.push_many(four);
  co_await leat::sleep_for(1s);
  co_await stop_and_join(patient);
}

TEST_CASE("world: does not report a queue with an abandoned batch") {
  std::size_t most_held = 0;
  world w(1);
  w.run([&most_held](world& here) -> task<> {
    leat::fifo_queue<int> q(2, "real");
    here.add_invariants(q);
    here.always("held items are looked for", [&] {
      most_held = std::max(most_held, q.statistics().held);
      return true;
    });
    co_await give_up_a_batch(q);
    CHECK(q.size() == 4);
    here.clear_invariants();
  });
  CHECK(most_held == 4);
}

// Loses the items that are returned to it.
struct leaky_order : leat::detail::ring_order<int> {
  void put_back(int&&) noexcept {}
};

struct leaky_queue : leat::basic_queue<int, leaky_order> {
  leaky_queue() : basic_queue({.capacity = 2, .name = "leaky"}, 0, {}) {}
};

TEST_CASE("world: reports a queue whose storage loses an item") {
  leaky_queue q;
  world w(1);
  w.add_invariants(q);
  CHECK_THROWS_WITH(w.run([&q](world&) { return give_up_a_batch(q); }),
                    Catch::Contains("queue 'leaky' neither loses nor duplicates items"));
}

}  // namespace world_invariants_test
