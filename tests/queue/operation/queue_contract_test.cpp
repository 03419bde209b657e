// The contract that all queues share, as one typed test.

#include "leat/queue/basic_queue.hpp"

#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

namespace queue_contract_test {

TEMPLATE_LIST_TEST_CASE("queue: rejects a capacity of 0", "[queue]", all_queues) {
  CHECK_THROWS_AS(TestType::make(0), leat::failure);
}

LEAT_TYPED_LIST_TEST("queue: every item leaves once", all_queues) {
  auto q = TestType::make(10);
  for (int i = 0; i < 10; ++i) CHECK(co_await q.push(int{i}));
  CHECK(q.size() == 10);
  std::vector<int> out;
  for (int i = 0; i < 10; ++i) {
    const auto item = co_await q.pop();
    out.push_back(item.value());
  }
  CHECK(sorted(out) == numbers(10));
  CHECK(q.size() == 0);
}

LEAT_TYPED_LIST_TEST("queue: a push to a full queue waits until space is free", all_queues) {
  auto q = TestType::make(2);
  fill(q, {0, 1});
  actors a(q);
  const outcome& o = a.push(2);
  co_await settle();
  CHECK_FALSE(o.ended);
  CHECK(q.statistics().waiting_pushes == 1);
  CHECK(co_await q.pop());
  CHECK(q.size() == 2);  // the state changes immediately, the coroutine resumes later
  CHECK_FALSE(o.ended);
  co_await settle();
  CHECK(o.accepted);
  co_await a.join();
}

LEAT_TYPED_LIST_TEST("queue: after a close, stored items drain and then pops return empty",
                     all_queues) {
  auto q = TestType::make(10);
  fill(q, numbers(4));
  CHECK(q.close());
  CHECK(q.is_closed());
  std::vector<int> out;
  for (int i = 0; i < 4; ++i) {
    const auto item = co_await q.pop();
    out.push_back(item.value());
  }
  CHECK(sorted(out) == numbers(4));
  CHECK_FALSE(co_await q.pop());
}

LEAT_TYPED_LIST_TEST("queue: a push to a closed queue returns false and does not move",
                     all_queues) {
  auto q = TestType::make(10);
  q.close();
  int value = 5;
  CHECK_FALSE(co_await q.push(std::move(value)));
  CHECK(co_await q.push_many({1, 2}) == 0);
  CHECK_FALSE(q.try_push(5));
  CHECK(q.size() == 0);
}

TEMPLATE_LIST_TEST_CASE("queue: a second close returns false", "[queue]", all_queues) {
  auto q = TestType::make(2);
  CHECK(q.close());
  CHECK_FALSE(q.close());
  q.close_and_cancel();
  q.close_and_cancel();
  CHECK(q.is_closed());
}

LEAT_TYPED_LIST_TEST("queue: close waits for earlier pushes", all_queues) {
  auto q = TestType::make(1);
  co_await q.push(1);
  actors a(q);
  const outcome& second = a.push(2);
  co_await settle();
  q.close();
  const outcome& late = a.push(3);
  co_await settle();
  CHECK_FALSE(q.is_closed());
  CHECK_FALSE(late.ended);
  CHECK(co_await q.pop());
  CHECK(q.is_closed());
  co_await a.join();
  CHECK(second.accepted);
  CHECK(late.ended);
  CHECK_FALSE(late.accepted);
  CHECK_FALSE(late.cancelled);
  CHECK(q.size() == 1);
}

LEAT_TYPED_LIST_TEST("queue: close_and_cancel ends waiting pushes and keeps the stored items",
                     all_queues) {
  auto q = TestType::make(4);
  fill(q, numbers(3));
  actors a(q);
  const outcome& half = a.push_many({3, 4});
  co_await settle();
  q.close_and_cancel();
  co_await a.join();
  CHECK(half.cancelled);
  CHECK(half.pushed == 1);
  CHECK(sorted(co_await q.pop_many(4)) == numbers(4));
}

LEAT_TYPED_LIST_TEST("queue: a waiting pop returns empty at the close", all_queues) {
  auto q = TestType::make(4);
  actors a(q);
  const outcome& one = a.pop();
  const outcome& many = a.pop_many(3);
  const outcome& up_to = a.pop_up_to(3);
  co_await settle();
  q.close();
  co_await a.join();
  CHECK(one.empty);
  CHECK(many.empty);
  CHECK(up_to.empty);
}

LEAT_TYPED_LIST_TEST("queue: pop_many takes items as they arrive, also more than the capacity",
                     holding_queues) {
  auto q = TestType::make(2);
  actors a(q);
  const outcome& batch = a.pop_many(4);
  co_await settle();
  for (int i = 0; i < 4; ++i) {
    CHECK_FALSE(batch.ended);
    CHECK(co_await q.push(int{i}));
    co_await settle();
  }
  CHECK(batch.ended);
  CHECK(sorted(batch.items) == numbers(4));
  co_await a.join();
}

LEAT_TYPED_LIST_TEST("queue: a pop_many that cannot be filled leaves all items at the close",
                     holding_queues) {
  auto q = TestType::make(2);
  actors a(q);
  const outcome& batch = a.pop_many(6);
  co_await settle();
  const outcome& filler = a.push_many(numbers(5));
  co_await settle();
  CHECK(filler.pushed == 5);
  CHECK(q.size() == 0);  // the batch holds them
  q.close();
  co_await a.join();
  CHECK(batch.empty);
  CHECK(q.size() == 5);  // more than the capacity of 2
  CHECK(sorted(co_await q.pop_up_to(9)) == numbers(5));
}

LEAT_TYPED_LIST_TEST("queue: pop_up_to returns the remaining items after the close", all_queues) {
  auto q = TestType::make(10);
  fill(q, numbers(5));
  actors a(q);
  const outcome& first = a.pop_up_to(3);
  const outcome& second = a.pop_up_to(3);
  const outcome& third = a.pop_up_to(3);
  co_await settle();
  CHECK(first.items.size() == 3);
  CHECK_FALSE(second.ended);
  q.close();
  co_await a.join();
  CHECK(second.items.size() == 2);
  CHECK(third.empty);
  auto all = first.items;
  all.insert(all.end(), second.items.begin(), second.items.end());
  CHECK(sorted(all) == numbers(5));
}

LEAT_TYPED_LIST_TEST("queue: batches of 0 succeed at once in any state", all_queues) {
  auto q = TestType::make(1);
  const auto check_batches = [&]() -> task<> {
    CHECK(co_await q.push_many({}) == 0);
    CHECK(co_await q.pop_many(0) == std::vector<int>());
    CHECK(co_await q.pop_up_to(0) == std::vector<int>());
  };
  co_await check_batches();
  co_await q.push(1);
  actors a(q);
  a.push(2);
  co_await settle();
  co_await check_batches();
  q.close_and_cancel();
  co_await a.join();
  co_await check_batches();
  CHECK(q.size() == 1);
}

LEAT_TYPED_LIST_TEST("queue: a cancelled pop_many returns its items", holding_queues) {
  auto q = TestType::make(10);
  fill(q, numbers(3));
  actors a(q);
  const outcome& batch = a.pop_many(4);
  co_await settle();
  CHECK(q.size() == 0);
  co_await a.cancel();
  CHECK(batch.cancelled);
  CHECK(q.size() == 3);
  CHECK(sorted(co_await q.pop_many(3)) == numbers(3));
}

LEAT_TYPED_LIST_TEST("queue: a cancelled push_many reports the number of added items", all_queues) {
  auto q = TestType::make(3);
  actors a(q);
  const outcome& o = a.push_many(numbers(8));
  co_await settle();
  CHECK(co_await q.pop());
  co_await a.cancel();
  CHECK(o.cancelled);
  CHECK(o.pushed == 4);
  CHECK(q.size() == 3);
}

LEAT_TYPED_LIST_TEST("queue: a cancelled operation has no effect and lets later ones advance",
                     all_queues) {
  auto q = TestType::make(4);
  actors first(q);
  actors second(q);
  const outcome& cancelled = first.pop_many(3);
  co_await settle();
  const outcome& served = second.pop();
  co_await settle();
  co_await q.push(1);
  co_await settle();
  CHECK_FALSE(served.ended);  // it waits after the batch of three
  co_await first.cancel();
  co_await second.join();
  CHECK(cancelled.cancelled);
  CHECK(served.items == std::vector<int>{1});
}

LEAT_TYPED_LIST_TEST("queue: an operation of a stopped task throws cancelled at once", all_queues) {
  for (const bool closed : {false, true}) {
    auto q = TestType::make(4);
    co_await q.push(1);
    if (closed) q.close();
    actors a(q);
    const outcome& pop = a.pop();
    const outcome& push = a.push(2);
    co_await a.cancel();
    CHECK(pop.cancelled);
    CHECK(push.cancelled);
    CHECK(q.size() == 1);
  }
}

LEAT_TYPED_LIST_TEST("queue: fail lets items drain, then throws the cause", all_queues) {
  auto q = TestType::make(4);
  co_await q.push(1);
  q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "a.txt is damaged")));
  CHECK(co_await q.pop() == 1);
  const std::string why = co_await message_of<leat::failure>(q.pop());
  CHECK(contains(why, "a.txt is damaged"));
  CHECK(co_await throws<leat::failure>(q.push(2)));
}

LEAT_TYPED_LIST_TEST("queue: try operations never overtake waiting operations", all_queues) {
  auto q = TestType::make(1);
  co_await q.push(1);
  actors a(q);
  const outcome& waiting = a.push(2);
  co_await settle();
  CHECK_FALSE(q.try_push(3));
  CHECK(q.try_pop());
  co_await a.join();
  CHECK(waiting.accepted);
  CHECK(q.try_pop());
  CHECK_FALSE(q.try_pop());
  CHECK(q.try_push(4));
}

LEAT_TYPED_LIST_TEST("queue: statistics count items in, items out and waits", all_queues) {
  auto q = TestType::make(2);
  actors a(q);
  a.push_many(numbers(3));
  co_await settle();
  auto s = q.statistics();
  CHECK(s.size == 2);
  CHECK(s.capacity == 2);
  CHECK(s.waiting_pushes == 1);
  CHECK(s.push_waits == 1);
  for (int i = 0; i < 3; ++i) co_await q.pop();
  co_await a.join();
  s = q.statistics();
  CHECK(s.pushed == 3);
  CHECK(s.popped == 3);
  CHECK(s.peak_size == 2);
  CHECK(s.waiting_pushes == 0);
}

TEMPLATE_LIST_TEST_CASE("queue: many producers and consumers lose and duplicate no item", "[queue]",
                        all_queues) {
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{3}, std::size_t{64}}) {
    on_virtual_time([capacity]() -> task<> {
      auto q = TestType::make(capacity);
      std::vector<int> seen;
      task_group producers;
      task_group consumers;
      struct loops {
        static task<> produce(typename TestType::queue& q, int from) {
          for (int i = from; i < from + 100; ++i) co_await q.push(int{i});
        }
        static task<> consume(typename TestType::queue& q, std::vector<int>& seen) {
          for (;;) {
            const auto item = co_await q.pop();
            if (!item) co_return;
            seen.push_back(*item);
          }
        }
      };
      for (int p = 0; p < 10; ++p) producers.spawn(loops::produce(q, p * 100));
      for (int c = 0; c < 7; ++c) consumers.spawn(loops::consume(q, seen));
      co_await producers.join();
      q.close();
      co_await consumers.join();
      CHECK(sorted(seen) == numbers(1000));
    });
  }
}

LEAT_TYPED_LIST_TEST("queue: results do not change if other tasks run in between", all_queues) {
  auto q = TestType::make(4);
  for (int i = 0; i < 2000; ++i) {  // more than the budget of a turn
    REQUIRE(co_await q.push(int{i}));
    REQUIRE(co_await q.pop() == i);
    std::vector<int> two{i, i};
    REQUIRE(co_await q.push_many(two) == 2);
    REQUIRE(co_await q.pop_many(2) == two);
    REQUIRE(co_await q.pop_many(0));
  }
}

LEAT_TEST("queue: accepts move-only items") {
  leat::fifo_queue<std::unique_ptr<int>> q(2);
  co_await q.push(std::make_unique<int>(3));
  const auto item = co_await q.pop();
  REQUIRE(item);
  CHECK(**item == 3);
}

}  // namespace queue_contract_test
