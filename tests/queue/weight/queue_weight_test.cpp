// Capacity by weight, as all queues implement it.

#include "leat/queue/detail/queue_weight.hpp"
#include "leat/queue/completion_tokens.hpp"

#include <algorithm>
#include <thread>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include "queue/weight/weighed_queues.hpp"
#include "support/leat_test.hpp"

namespace queue_weight_test {

LEAT_TYPED_LIST_TEST("queue: a push waits for free weight", weighed_queues) {
  auto q = TestType::make({.max_weight = 10});
  CHECK(q.try_push(6));
  CHECK(q.try_push(4));
  actors a(q);
  const outcome& o = a.push(1);
  co_await settle();
  CHECK_FALSE(o.ended);
  CHECK(q.size() == 2);
  CHECK(co_await q.pop());
  co_await a.join();
  CHECK(o.accepted);
  CHECK(q.size() == 2);
}

TEMPLATE_LIST_TEST_CASE("queue: limits items by number and by weight", "[queue]", weighed_queues) {
  auto q = TestType::make({.max_weight = 10, .capacity = 2});
  CHECK(q.try_push(1));
  CHECK_FALSE(q.try_push(10));
  CHECK(q.try_push(1));
  CHECK_FALSE(q.try_push(1));  // the weight fits, the number does not
  CHECK(q.try_pop());
  CHECK(q.try_push(9));
  CHECK(q.statistics().weight == 10);
}

TEMPLATE_LIST_TEST_CASE("queue: every form rejects an item that never fits at once", "[queue]",
                        weighed_queues) {
  auto q = TestType::make({.max_weight = 10});
  std::vector<int> run{1, 11, 2};
  const std::string why = refusal([&] { return q.try_push(11); }, errc::resource_exhausted);
  CHECK(contains(why, "queue 'q'"));
  CHECK(contains(why, "weight 11"));
  CHECK(contains(why, "max_weight of 10"));
  CHECK(code_of([&] { return q.try_push_many(run); }) == errc::resource_exhausted);
  CHECK(code_of([&] { leat::block_on(q.push(11)); }) == errc::resource_exhausted);
  CHECK(code_of([&] { leat::block_on(q.push_many(run)); }) == errc::resource_exhausted);
  asio::io_context io;
  std::error_code one;
  std::error_code many;
  std::size_t in = 9;
  q.async_push(11, asio::bind_executor(io, [&](std::error_code ec, bool) { one = ec; }));
  q.async_push_many(run, asio::bind_executor(io, [&](std::error_code ec, std::size_t count) {
                      many = ec;
                      in = count;
                    }));
  io.run();
  CHECK(one == errc::resource_exhausted);
  CHECK(many == errc::resource_exhausted);
  CHECK(in == 0);
  on_virtual_time([&q, &run]() -> task<> {
    int refused = 0;
    if (co_await throws<leat::failure>(q.push(11))) ++refused;
    try {
      static_cast<void>(co_await q.push_many(run));
    } catch (const leat::failure& e) {
      ++refused;
      CHECK(dynamic_cast<const leat::partial_push_error*>(&e) == nullptr);
    }
    if (co_await throws<leat::failure>(leat::select(q.push(11), q.pop()))) ++refused;
    CHECK(refused == 3);
  });
  CHECK(run == std::vector<int>{1, 11, 2});
  const auto s = q.statistics();
  CHECK(s.pushed == 0);
  CHECK(s.weight == 0);
  CHECK(s.push_waits == 0);
}

TEMPLATE_LIST_TEST_CASE("queue: an item as heavy as the maximum enters alone", "[queue]",
                        weighed_queues) {
  auto q = TestType::make({.max_weight = 10});
  CHECK(q.try_push(10));
  CHECK_FALSE(q.try_push(1));
  CHECK(q.try_pop() == 10);
  CHECK(q.statistics().weight == 0);
}

LEAT_TYPED_LIST_TEST("queue: a waiting heavy push blocks later lighter ones", weighed_queues) {
  auto q = TestType::make({.max_weight = 10});
  CHECK(q.try_push(5));
  actors first(q);
  actors second(q);
  const outcome& heavy = first.push(6);
  co_await settle();
  const outcome& light = second.push(1);
  co_await settle();
  CHECK_FALSE(light.ended);
  CHECK_FALSE(q.try_push(1));
  co_await first.cancel();  // the light push moves up when the heavy one has ended
  co_await second.join();
  CHECK(heavy.cancelled);
  CHECK(light.accepted);
  CHECK(q.statistics().weight == 6);
}

LEAT_TYPED_LIST_TEST("queue: a push of many adds items one by one as the weight allows",
                     weighed_queues) {
  auto q = TestType::make({.max_weight = 10});
  actors a(q);
  const outcome& run = a.push_many({6, 4, 7, 3, 9});
  co_await settle();
  CHECK(q.size() == 2);
  int sum = 0;
  for (int i = 0; i < 5; ++i) {
    const auto item = co_await q.pop();
    REQUIRE(item);
    sum += *item;
    CHECK(q.statistics().weight <= 10);
  }
  co_await a.join();
  CHECK(run.pushed == 5);
  CHECK(sum == 29);
  CHECK(q.statistics().weight == 0);
  CHECK(q.statistics().peak_weight == 10);
}

TEMPLATE_LIST_TEST_CASE("queue: try_push_many adds as many items as the weight allows", "[queue]",
                        weighed_queues) {
  auto q = TestType::make({.max_weight = 10});
  std::vector<int> run{6, 4, 1};
  CHECK(q.try_push_many(run) == 2);
  CHECK(run[2] == 1);
  CHECK(q.statistics().weight == 10);
  CHECK(sorted(q.try_pop_up_to(3)) == std::vector<int>{4, 6});
  CHECK(q.statistics().weight == 0);
}

LEAT_TYPED_LIST_TEST(
    "queue: items of a waiting batch do not count and may return above the maximum",
    weighed_holding_queues) {
  auto q = TestType::make({.max_weight = 10});
  actors pops(q);
  actors pushes(q);
  const outcome& batch = pops.pop_many(4);
  co_await settle();
  for (const int item : {8, 7}) CHECK(co_await q.push(int{item}));
  CHECK(q.statistics().weight == 0);
  co_await pops.cancel();
  CHECK(batch.cancelled);
  auto s = q.statistics();
  CHECK(s.weight == 15);
  CHECK(s.returned_weight == 15);
  CHECK(s.peak_weight == 15);
  CHECK_FALSE(q.try_push(1));
  const outcome& waiting = pushes.push(2);
  co_await settle();
  CHECK_FALSE(waiting.ended);
  CHECK(co_await q.pop());
  co_await pushes.join();
  CHECK(waiting.accepted);
  CHECK(q.size() == 2);
  CHECK(q.statistics().weight <= 10);
}

LEAT_TEST("queue: weighs each item once, even if it waits or returns") {
  static int weighings;
  struct counting {
    std::size_t operator()(int item) const {
      ++weighings;
      return static_cast<std::size_t>(item);
    }
  };
  weighings = 0;
  leat::fifo_queue<int, counting> q({.capacity = 2, .max_weight = 10, .name = "q"});
  actors early(q);
  early.pop_many(6);
  co_await settle();
  early.push_many({9, 8, 7});
  co_await settle();
  CHECK(q.size() == 0);
  co_await early.cancel();
  CHECK(q.size() == 3);
  actors late(q);
  const outcome& waits = late.push(5);
  co_await settle();
  CHECK_FALSE(waits.ended);
  while (q.try_pop()) co_await settle();
  co_await late.join();
  CHECK(weighings == 4);
}

TEST_CASE("queue: a push throws the exception of the weight function without effect") {
  struct fragile {
    std::size_t operator()(const std::string& s) const {
      if (s.empty()) throw std::domain_error("an empty line");
      return s.size();
    }
  };
  leat::fifo_queue<std::string, fragile> q({.capacity = 4, .max_weight = 10, .name = "q"});
  std::vector<std::string> run{"a", "", "b"};
  CHECK_THROWS_AS(q.try_push(std::string()), std::domain_error);
  CHECK_THROWS_AS(leat::block_on(q.push_many(run)), std::domain_error);
  CHECK(run == std::vector<std::string>{"a", "", "b"});
  asio::io_context io;
  std::error_code ec;
  q.async_push("", asio::bind_executor(io, [&](std::error_code e, bool) { ec = e; }));
  io.run();
  CHECK(ec == errc::unknown);
  on_virtual_time(
      [&q]() -> task<> { CHECK(co_await throws<std::domain_error>(q.push(std::string()))); });
  CHECK(q.statistics().pushed == 0);
  CHECK(q.try_push(std::string("fine")));
}

TEMPLATE_LIST_TEST_CASE("queue: statistics and describe() have weight and count", "[queue]",
                        weighed_queues) {
  auto q = TestType::make({.max_weight = 10, .capacity = 4}, "lines");
  CHECK(q.try_push(3));
  CHECK(q.try_push(4));
  CHECK(q.try_pop());
  CHECK(q.try_push(1));
  const auto s = q.statistics();
  CHECK(s.size == 2);
  CHECK((s.weight == 4 || s.weight == 5));
  CHECK(s.max_weight == 10);
  CHECK(s.peak_weight == 7);
  const std::string weight = std::to_string(s.weight);
  CHECK(described(q) == "queue 'lines' (2 of 4, weight " + weight + " of 10)");
  q.close();
  CHECK(described(q) == "queue 'lines' (2 of 4, weight " + weight + " of 10, closed)");
  auto open = TestType::make({.capacity = leat::unbounded}, "all");
  CHECK(described(open) == "queue 'all' (0, weight 0)");
}

TEST_CASE("queue: rejects max_weight without a weight function and limits of 0") {
  CHECK_THROWS_WITH(leat::fifo_queue<int>({.capacity = 1, .max_weight = 5}),
                    Catch::Contains("without a weight function"));
  CHECK_THROWS_WITH(weighed_fifo::make({.max_weight = 0}), Catch::Contains("max_weight is 0"));
  CHECK_THROWS_AS(weighed_fifo::make({.max_weight = 5, .capacity = 0}), leat::failure);
  const auto plain = leat::fifo_queue<int>({.capacity = 3, .name = "q"}).statistics();
  CHECK(plain.capacity == 3);
  CHECK(plain.max_weight == leat::unbounded);
}

LEAT_TEST("queue: a pop lets all waiting pushes enter if only weight is limited") {
  auto q = weighed_fifo::make({.max_weight = 100'000, .capacity = leat::unbounded});
  CHECK(q.try_push(100'000));
  actors a(q);
  for (int i = 0; i < 20; ++i) a.push_many(std::vector<int>(1000, 5));
  co_await settle();
  CHECK(q.size() == 1);
  CHECK(q.try_pop());  // makes room for all at once
  co_await a.join();
  CHECK(q.size() == 20'000);
  CHECK(q.statistics().weight == 100'000);
}

LEAT_TEST("select: a losing push that waits for weight lets later pushes advance") {
  auto q = weighed_fifo::make({.max_weight = 10});
  CHECK(q.try_push(5));
  task_group g;
  bool timed_out = false;
  g.spawn([](auto& to, bool& late) -> task<> {
    late = co_await code_of(leat::with_timeout(to.push(6), 1ms)) == errc::deadline_exceeded;
  }(q, timed_out));
  co_await settle();
  actors a(q);
  const outcome& light = a.push(1);
  co_await settle();
  CHECK_FALSE(light.ended);
  co_await g.join();
  co_await a.join();
  CHECK(timed_out);
  CHECK(light.accepted);
  CHECK(q.statistics().weight == 6);
}

LEAT_TEST("random_shuffle_queue: ignores the minimum size if weight blocks pushes") {
  auto q = weighed_shuffled::make({.max_weight = 10, .min_after_dequeue = 3});
  std::vector<int> two{5, 5};
  CHECK(q.try_push_many(two) == 2);
  CHECK_FALSE(q.try_pop());
  actors a(q);
  const outcome& pop = a.pop();
  const outcome& next = a.pop();
  co_await settle();
  CHECK_FALSE(pop.ended);
  const outcome& push = a.push(1);
  co_await settle();
  CHECK(push.accepted);
  CHECK(pop.items.size() == 1);
  CHECK_FALSE(next.ended);  // the push has completed, so the minimum applies again
  CHECK(q.size() == 2);
  q.close();
  co_await a.join();
  CHECK(next.items.size() == 1);
}

LEAT_TEST("random_shuffle_queue: below the minimum size a try operation takes one item at a time") {
  auto q = weighed_shuffled::make({.max_weight = 10, .min_after_dequeue = 4});
  std::vector<int> three{3, 3, 3};
  CHECK(q.try_push_many(three) == 3);
  actors a(q);
  const outcome& push = a.push(7);
  co_await settle();
  CHECK_FALSE(q.try_pop_many(2));
  const auto some = q.try_pop_up_to(3);
  REQUIRE(some);
  CHECK(some->size() == 1);
  CHECK_FALSE(push.ended);
  CHECK(q.try_pop());
  co_await a.join();
  CHECK(push.accepted);
  CHECK_FALSE(q.try_pop());
  q.close();
}

LEAT_TEST("priority_queue: a batch heavier than the limit fails with resource_exhausted") {
  auto q = weighed_prioritized::make({.max_weight = 10}, "jobs");
  std::string why;
  outcome run;
  task_group g;
  g.spawn([](auto& from, std::string& text) -> task<> {
    text = co_await message_of(from.pop_many(3), errc::resource_exhausted);
  }(q, why));
  co_await settle();
  g.spawn(push_all(q, {4, 4, 4}, run));
  co_await settle();
  CHECK(contains(why, "pop from queue 'jobs' (2 of 100, weight 8 of 10)"));
  CHECK(contains(why, "0 of 3 done"));
  const auto two = co_await q.pop_many(2);
  CHECK(two == std::vector<int>{4, 4});
  co_await g.join();
  CHECK(run.pushed == 3);
}

TEST_CASE(
    "priority_queue: a batch heavier than the limit fails with resource_exhausted through Asio") {
  auto q = weighed_prioritized::make({.max_weight = 10}, "jobs");
  CHECK(q.try_push(6));
  asio::io_context io;
  std::error_code ec;
  q.async_pop_up_to(2, asio::bind_executor(io, [&](std::error_code e, auto) { ec = e; }));
  q.async_push(6, asio::bind_executor(io, [](std::error_code, bool) {}));
  io.run_one();
  CHECK(ec == errc::resource_exhausted);
  CHECK(q.try_pop() == 6);
  io.run();
  CHECK(q.try_pop() == 6);
}

TEST_CASE("queue: counts weights correctly across threads") {
  auto q = weighed_fifo::make({.max_weight = 10, .capacity = 3});
  std::size_t heaviest = 0;
  long sum = 0;
  std::jthread producer([&q] {
    for (int i = 0; i < 2000; ++i) leat::block_on(q.push(1 + i % 10));
    q.close();
  });
  while (const auto item = leat::block_on(q.pop())) {
    sum += *item;
    heaviest = std::max(heaviest, q.statistics().weight);
  }
  CHECK(sum == 11'000);
  CHECK(heaviest <= 10);
}

}  // namespace queue_weight_test
