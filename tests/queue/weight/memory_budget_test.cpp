#include "leat/queue/memory_budget.hpp"
#include "leat/queue/completion_tokens.hpp"

#include <array>
#include <sstream>

#include "queue/weight/weighed_queues.hpp"
#include "support/asio_test.hpp"

namespace memory_budget_test {

using leat::memory_budget;

task<> push_and_note(weighed_fifo::queue& q, int item, std::string name, std::string& order) {
  const bool in = co_await q.push(std::move(item));
  if (in) order += name;
}

TEST_CASE("memory_budget: rejects a limit of 0") {
  CHECK_THROWS_WITH(memory_budget(0, "ram"),
                    Catch::StartsWith("budget 'ram': limit is 0: use 1 or more"));
}

TEST_CASE("memory_budget: counts and reports the weight in its queues") {
  memory_budget ram(20, "ram");
  auto a = weighed_fifo::make({.budget = &ram}, "a");
  {
    auto b = weighed_shuffled::make({.max_weight = 9, .budget = &ram}, "b");
    CHECK(a.try_push(8));
    CHECK(b.try_push(5));
    CHECK(ram.used() == 13);
    CHECK(ram.statistics().queues == 2);
    std::ostringstream out;
    ram.describe(out);
    b.describe(out << "; ");
    CHECK(out.str() ==
          "budget 'ram' (13 of 20); queue 'b' (1 of 100, weight 5 of 9), budget 'ram' (13 of 20)");
  }
  CHECK(ram.used() == 8);  // the items of b were destroyed with it
  CHECK(a.try_pop() == 8);
  const auto s = ram.statistics();
  CHECK(s.used == 0);
  CHECK(s.peak == 13);
  CHECK(s.limit == 20);
  CHECK(s.queues == 1);
  CHECK(s.waiting == 0);
}

TEST_CASE("memory_budget: rejects an item heavier than the limit at once") {
  memory_budget ram(20, "ram");
  auto q = weighed_fifo::make({.budget = &ram}, "q");
  CHECK_FAILS(errc::resource_exhausted, "limit of 20 of budget 'ram'", q.try_push(21));
  CHECK(q.try_push(20));
}

TEST_CASE("memory_budget: an item returned by a cancelled pop does not overtake waiting pushes") {
  memory_budget ram(100, "ram");
  auto q = weighed_fifo::make({.budget = &ram, .capacity = leat::unbounded}, "q");
  auto other = weighed_fifo::make({.budget = &ram}, "other");
  CHECK(q.try_push(5));
  CHECK(other.try_push(95));
  asio::io_context io;
  asio::cancellation_signal signal;
  std::error_code of_pop;
  q.async_pop(asio::bind_cancellation_slot(
      signal.slot(),
      asio::bind_executor(io, [&](std::error_code ec, std::optional<int>) { of_pop = ec; })));
  std::array<int, 8> run;
  run.fill(10);
  std::size_t in = 0;
  q.async_push_many(run, asio::bind_executor(io, [&](std::error_code, std::size_t n) { in = n; }));
  CHECK(q.size() == 0);
  signal.emit(asio::cancellation_type::total);
  CHECK(q.size() == 1);
  CHECK(other.try_pop() == 95);
  io.run();
  CHECK(of_pop == errc::cancelled);
  CHECK(in == 8);
  CHECK(q.try_pop() == 5);
  for (int i = 0; i < 8; ++i) CHECK(q.try_pop() == 10);
}

TEST_CASE("memory_budget: must outlive its queues") {
  const std::string said = leat_test::abort_message([] {
    auto ram = std::make_unique<memory_budget>(20, "ram");
    const auto q = weighed_fifo::make({.budget = ram.get()});
    ram.reset();
  });
  CHECK(contains(said, "memory budget destroyed before a queue"));
}

LEAT_TYPED_LIST_TEST("memory_budget: a pop from one queue lets a push to another continue",
                     weighed_queues) {
  memory_budget ram(10, "ram");
  auto a = TestType::make({.budget = &ram}, "a");
  auto b = TestType::make({.budget = &ram}, "b");
  CHECK(a.try_push(8));
  actors of_b(b);
  const outcome& o = of_b.push(5);
  co_await settle();
  CHECK_FALSE(o.ended);
  CHECK(b.statistics().waits_for_budget);
  CHECK(ram.statistics().waiting == 1);
  CHECK(ram.statistics().awaited == 5);
  CHECK_FALSE(b.try_push(1));
  CHECK_FALSE(a.try_push(1));  // others wait for the budget: no push overtakes
  CHECK(co_await a.pop());
  CHECK(b.size() == 1);
  co_await of_b.join();
  CHECK(o.accepted);
  CHECK(ram.used() == 5);
}

LEAT_TEST("memory_budget: pushes to all queues continue in the order of arrival") {
  memory_budget ram(10, "ram");
  auto a = weighed_fifo::make({.budget = &ram}, "a");
  auto b = weighed_fifo::make({.budget = &ram}, "b");
  auto c = weighed_fifo::make({.budget = &ram}, "c");
  CHECK(c.try_push(10));
  std::string order;
  task_group g;
  struct arrival {
    weighed_fifo::queue* queue;
    int item;
    const char* name;
  };
  const std::vector<arrival> arrivals{{&a, 2, "1"}, {&a, 3, "2"}, {&b, 4, "3"},
                                      {&a, 1, "4"}, {&b, 7, "5"}, {&a, 1, "6"}};
  for (const arrival& next : arrivals) {
    g.spawn(push_and_note(*next.queue, next.item, next.name, order));
    co_await settle();
  }
  CHECK(c.try_pop());
  co_await settle();
  CHECK(order == "1234");  // the next is too heavy, and the lighter one waits for it
  CHECK(ram.used() == 10);
  CHECK(a.try_pop() == 2);
  CHECK(a.try_pop() == 3);
  co_await settle();
  CHECK(order == "1234");
  CHECK(b.try_pop() == 4);
  co_await settle();
  CHECK(order == "123456");
  co_await g.join();
}

LEAT_TEST("memory_budget: a push that waits for capacity does not block other queues") {
  memory_budget ram(10, "ram");
  auto full = weighed_fifo::make({.budget = &ram, .capacity = 1}, "full");
  auto heavy = weighed_fifo::make({.max_weight = 4, .budget = &ram}, "heavy");
  auto other = weighed_fifo::make({.budget = &ram}, "other");
  CHECK(full.try_push(1));
  CHECK(heavy.try_push(4));
  actors of_full(full);
  actors of_heavy(heavy);
  const outcome& first = of_full.push(2);
  of_heavy.push(3);
  co_await settle();
  CHECK(ram.statistics().waiting == 0);
  CHECK(other.try_push(5));
  CHECK(full.try_pop());  // now the first waits only for the budget
  co_await settle();
  CHECK_FALSE(first.ended);
  CHECK(ram.used() == 9);
  CHECK(ram.statistics().waiting == 1);
  co_await of_full.cancel();
  co_await of_heavy.cancel();
}

LEAT_TEST("memory_budget: an older push comes first when its queue has free capacity again") {
  memory_budget ram(10, "ram");
  auto a = weighed_fifo::make({.budget = &ram, .capacity = 1}, "a");
  auto b = weighed_fifo::make({.budget = &ram}, "b");
  CHECK(a.try_push(1));
  CHECK(b.try_push(9));
  std::string order;
  task_group g;
  g.spawn(push_and_note(a, 8, "old", order));
  co_await settle();
  g.spawn(push_and_note(b, 2, "new", order));
  co_await settle();
  CHECK(ram.statistics().awaited == 2);
  CHECK(a.try_pop());
  CHECK(ram.statistics().awaited == 8);
  CHECK(ram.statistics().waiting == 2);
  CHECK(b.try_pop() == 9);
  co_await g.join();
  CHECK(order == "oldnew");
}

LEAT_TEST("memory_budget: a waiting pop of another queue receives the new item") {
  memory_budget ram(10, "ram");
  auto a = weighed_fifo::make({.budget = &ram}, "a");
  auto b = weighed_fifo::make({.budget = &ram}, "b");
  CHECK(a.try_push(10));
  actors of_b(b);
  const outcome& taken = of_b.pop_many(3);
  const outcome& run = of_b.push_many({7, 8, 9});
  co_await settle();
  CHECK_FALSE(run.ended);
  CHECK(a.try_pop() == 10);
  co_await of_b.join();
  CHECK(taken.items == std::vector<int>{7, 8, 9});
  CHECK(ram.used() == 0);
  CHECK(ram.statistics().peak == 10);
}

TEST_CASE("memory_budget: stop, close, fail and destruction of a queue let others continue") {
  enum class way { stop, close, close_and_cancel, fail, destroy };
  for (const way how : {way::stop, way::close, way::close_and_cancel, way::fail, way::destroy}) {
    on_virtual_time([how]() -> task<> {
      memory_budget ram(10, "ram");
      auto a = std::make_unique<weighed_fifo::queue>(
          leat::queue_options{.capacity = 9, .budget = &ram, .name = "a"});
      auto b = weighed_fifo::make({.budget = &ram}, "b");
      const bool destroys = how == way::destroy;
      CHECK(a->try_push(6));
      outcome heavy;
      outcome light;
      outcome behind;
      task_group first;
      task_group second;
      if (!destroys) first.spawn(push_one(*a, 9, heavy));
      co_await settle();
      second.spawn(push_one(b, destroys ? 5 : 3, light));
      co_await settle();
      CHECK_FALSE(light.ended);
      switch (how) {
        case way::stop: first.request_stop(); break;
        case way::close:  // waits after the push
          CHECK(a->close());
          CHECK_FALSE(a->is_closed());
          CHECK(a->try_pop() == 6);
          break;
        case way::close_and_cancel: a->close_and_cancel(); break;
        case way::fail: a->fail(std::make_exception_ptr(leat::failure(errc::data_loss, ""))); break;
        case way::destroy: a.reset(); break;
      }
      if (how == way::close) {
        co_await first.join();
        CHECK(heavy.accepted);
        CHECK(a->is_closed());
        CHECK_FALSE(light.ended);
        CHECK(a->try_pop() == 9);
      }
      co_await first.join();
      co_await second.join();
      CHECK(light.accepted);
      CHECK(ram.used() == b.statistics().weight + (a ? a->statistics().weight : 0));
    });
  }
}

LEAT_TEST("memory_budget: returned items may exceed it, and then block pushes") {
  memory_budget ram(10, "ram");
  auto a = weighed_fifo::make({.budget = &ram}, "a");
  auto b = weighed_fifo::make({.budget = &ram}, "b");
  actors of_a(a);
  actors of_b(b);
  of_a.pop_many(2);
  co_await settle();
  CHECK(a.try_push(7));
  CHECK(ram.used() == 0);
  CHECK(b.try_push(8));
  co_await of_a.cancel();
  CHECK(ram.used() == 15);
  CHECK(ram.statistics().returned == 7);
  const outcome& waits = of_b.push(1);
  co_await settle();
  CHECK_FALSE(waits.ended);
  CHECK(a.try_pop() == 7);
  co_await of_b.join();
  CHECK(waits.accepted);
  CHECK(ram.used() == 9);
}

LEAT_TEST("memory_budget: a select over queues of one budget pushes to one") {
  memory_budget ram(10, "ram");
  auto a = weighed_fifo::make({.budget = &ram}, "a");
  auto b = weighed_fifo::make({.budget = &ram}, "b");
  auto c = weighed_fifo::make({.budget = &ram}, "c");
  CHECK(c.try_push(10));
  std::size_t chosen = 9;
  task_group g;
  g.spawn([](auto& x, auto& y, std::size_t& out) -> task<> {
    const auto r = co_await leat::select(x.push(6), y.push(6));
    out = r.index();
  }(a, b, chosen));
  co_await settle();
  actors of_b(b);
  const outcome& behind = of_b.push(4);
  co_await settle();
  CHECK(ram.statistics().waiting == 2);
  CHECK(c.try_pop());
  co_await g.join();
  co_await of_b.join();
  CHECK(chosen == 0);
  CHECK(a.size() == 1);
  CHECK(b.size() == 1);
  CHECK(behind.accepted);
  CHECK(ram.used() == 10);
  CHECK(ram.statistics().waiting == 0);
}

LEAT_TEST("memory_budget: queues ignore their minimum size while a push waits") {
  memory_budget ram(10, "ram");
  auto buffer = weighed_shuffled::make({.budget = &ram, .min_after_dequeue = 5}, "buffer");
  auto raw = weighed_fifo::make({.budget = &ram}, "raw");
  std::vector<int> four{2, 2, 2, 2};
  CHECK(buffer.try_push_many(four) == 4);
  actors of_buffer(buffer);
  actors of_raw(raw);
  const outcome& first = of_buffer.pop();
  co_await settle();
  const outcome& second = of_buffer.pop();
  co_await settle();
  const outcome& third = of_buffer.pop();
  co_await settle();
  CHECK_FALSE(first.ended);
  const outcome& push = of_raw.push(5);  // needs 3 more than is free: two items
  co_await settle();
  CHECK(push.accepted);
  CHECK(first.items.size() == 1);
  CHECK(second.items.size() == 1);
  CHECK_FALSE(third.ended);
  CHECK(ram.used() == 9);
  buffer.close();
  co_await of_buffer.join();
  co_await of_raw.join();
}

LEAT_TEST("memory_budget: rejects waiting batches of a priority queue") {
  memory_budget ram(10, "ram");
  auto jobs = weighed_prioritized::make({.budget = &ram}, "jobs");
  std::vector<int> two{6, 4};
  CHECK(jobs.try_push_many(two) == 2);
  const std::string why = co_await message_of(jobs.pop_many(2), errc::invalid_argument);
  CHECK(contains(why, "queue 'jobs': pop of 2 items could deadlock"));
  CHECK(jobs.try_pop_many(2) == std::vector<int>{4, 6});
  CHECK(jobs.try_push(3));
  const auto one = co_await jobs.pop_up_to(1);
  CHECK(one == std::vector<int>{3});
}

LEAT_TEST("memory_budget: single items that fit never deadlock") {
  memory_budget ram(10, "ram");
  std::vector<std::unique_ptr<weighed_fifo::queue>> queues;
  for (int i = 0; i < 5; ++i) {
    queues.push_back(std::make_unique<weighed_fifo::queue>(
        leat::queue_options{.capacity = 3, .budget = &ram, .name = "q"}));
  }
  task_group producers;
  task_group consumers;
  long sum = 0;
  for (auto& q : queues) {
    producers.spawn([](auto& to) -> task<> {
      for (int i = 0; i < 200; ++i) co_await to.push(1 + i % 10);
      to.close();
    }(*q));
    consumers.spawn([](auto& from, long& all) -> task<> {
      while (const auto item = co_await from.pop()) all += *item;
    }(*q, sum));
  }
  co_await producers.join();
  co_await consumers.join();
  CHECK(sum == 5 * 1100);
  CHECK(ram.statistics().peak <= 10);
  CHECK(ram.used() == 0);
}

}  // namespace memory_budget_test
