// The contract that all queues share, as one typed test.

#include "leat/queue/basic_queue.hpp"

#include <memory>
#include <vector>

#include "leat/async/task_group.hpp"
#include "queue/operation/queue_tasks.hpp"

namespace queue_contract_test {

TEMPLATE_LIST_TEST_CASE("queue: rejects a capacity of 0", "[queue]", all_queues) {
  CHECK_THROWS_AS(TestType::make(0), leat::failure);
}

TEMPLATE_LIST_TEST_CASE("queue: every item leaves once", "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(10);
    for (int i = 0; i < 10; ++i) {
      const bool in = co_await q.push(int{i});
      CHECK(in);
    }
    CHECK(q.size() == 10);
    std::vector<int> out;
    for (int i = 0; i < 10; ++i) {
      const auto item = co_await q.pop();
      REQUIRE(item);
      out.push_back(*item);
    }
    CHECK(sorted(out) == numbers(10));
    CHECK(q.size() == 0);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: a push to a full queue waits until space is free", "[queue]",
                        all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(2);
    std::vector<int> first = {0, 1};
    co_await q.push_many(first);
    outcome o;
    leat::task_group g;
    g.spawn(push_one(q, 2, o));
    co_await settle();
    CHECK_FALSE(o.ended);
    CHECK(q.statistics().waiting_pushes == 1);
    const auto item = co_await q.pop();
    CHECK(item);
    CHECK(q.size() == 2);  // the state changes immediately, the coroutine resumes later
    CHECK_FALSE(o.ended);
    co_await settle();
    CHECK(o.accepted);
    co_await g.join();
  });
}

TEMPLATE_LIST_TEST_CASE("queue: after a close, stored items drain and then pops return empty",
                        "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(10);
    std::vector<int> items = numbers(4);
    co_await q.push_many(items);
    CHECK(q.close());
    CHECK(q.is_closed());
    std::vector<int> out;
    for (int i = 0; i < 4; ++i) {
      const auto item = co_await q.pop();
      REQUIRE(item);
      out.push_back(*item);
    }
    CHECK(sorted(out) == numbers(4));
    const auto end = co_await q.pop();
    CHECK_FALSE(end);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: a push to a closed queue returns false and does not move",
                        "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(10);
    q.close();
    int value = 5;
    const bool in = co_await q.push(std::move(value));
    CHECK_FALSE(in);
    CHECK_FALSE(q.try_push(5));
    CHECK(q.size() == 0);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: a second close returns false", "[queue]", all_queues) {
  auto q = TestType::make(2);
  CHECK(q.close());
  CHECK_FALSE(q.close());
  q.close_and_cancel();
  q.close_and_cancel();
  CHECK(q.is_closed());
}

TEMPLATE_LIST_TEST_CASE("queue: close waits for earlier pushes", "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(1);
    co_await q.push(1);
    outcome second;
    outcome late;
    leat::task_group g;
    g.spawn(push_one(q, 2, second));
    co_await settle();
    q.close();
    g.spawn(push_one(q, 3, late));
    co_await settle();
    CHECK_FALSE(q.is_closed());
    CHECK_FALSE(late.ended);
    const auto item = co_await q.pop();
    CHECK(item);
    CHECK(q.is_closed());
    co_await g.join();
    CHECK(second.accepted);
    CHECK(late.ended);
    CHECK_FALSE(late.accepted);
    CHECK(q.size() == 1);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: a push after a waiting close is rejected", "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(1);
    CHECK(co_await q.push(1));
    outcome before;
    outcome after;
    leat::task_group g;
    g.spawn(push_one(q, 2, before));
    co_await settle();
    q.close();
    g.spawn(push_one(q, 3, after));
    co_await settle();
    CHECK_FALSE(after.ended);
    CHECK(co_await q.pop());
    co_await g.join();
    CHECK(before.accepted);
    CHECK(after.ended);
    CHECK_FALSE(after.accepted);
    CHECK_FALSE(after.cancelled);
    CHECK(q.size() == 1);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: close_and_cancel ends waiting pushes and keeps the stored items",
                        "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(4);
    std::vector<int> items = numbers(3);
    co_await q.push_many(items);
    outcome half;
    leat::task_group g;
    std::vector<int> more = {3, 4};
    g.spawn(push_all(q, more, half));
    co_await settle();
    q.close_and_cancel();
    co_await g.join();
    CHECK(half.cancelled);
    CHECK(half.pushed == 1);
    const auto rest = co_await q.pop_many(4);
    REQUIRE(rest);
    CHECK(sorted(*rest) == numbers(4));
  });
}

TEMPLATE_LIST_TEST_CASE("queue: a waiting pop returns empty at the close", "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(4);
    outcome one;
    outcome many;
    outcome up_to;
    leat::task_group g;
    g.spawn(pop_one(q, one));
    g.spawn(pop_some(q, 3, false, many));
    g.spawn(pop_some(q, 3, true, up_to));
    co_await settle();
    q.close();
    co_await g.join();
    CHECK(one.empty);
    CHECK(many.empty);
    CHECK(up_to.empty);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: pop_many takes items as they arrive, also more than the capacity",
                        "[queue]", holding_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(2);
    outcome batch;
    leat::task_group g;
    g.spawn(pop_some(q, 4, false, batch));
    co_await settle();
    for (int i = 0; i < 4; ++i) {
      CHECK_FALSE(batch.ended);
      const bool in = co_await q.push(int{i});
      CHECK(in);
      co_await settle();
    }
    CHECK(batch.ended);
    CHECK(sorted(batch.items) == numbers(4));
    co_await g.join();
  });
}

TEMPLATE_LIST_TEST_CASE("queue: a pop_many that cannot be filled leaves all items at the close",
                        "[queue]", holding_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(2);
    outcome batch;
    outcome filler;
    leat::task_group g;
    g.spawn(pop_some(q, 6, false, batch));
    co_await settle();
    g.spawn(push_all(q, numbers(5), filler));
    co_await settle();
    CHECK(filler.pushed == 5);
    CHECK(q.size() == 0);  // the batch holds them
    q.close();
    co_await g.join();
    CHECK(batch.empty);
    CHECK(q.size() == 5);  // more than the capacity of 2
    const auto rest = co_await q.pop_up_to(9);
    REQUIRE(rest);
    CHECK(sorted(*rest) == numbers(5));
  });
}

TEMPLATE_LIST_TEST_CASE("queue: pop_up_to returns the remaining items after the close", "[queue]",
                        all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(10);
    std::vector<int> items = numbers(5);
    co_await q.push_many(items);
    outcome first;
    outcome second;
    outcome third;
    leat::task_group g;
    g.spawn(pop_some(q, 3, true, first));
    g.spawn(pop_some(q, 3, true, second));
    g.spawn(pop_some(q, 3, true, third));
    co_await settle();
    CHECK(first.items.size() == 3);
    CHECK_FALSE(second.ended);
    q.close();
    co_await g.join();
    CHECK(second.items.size() == 2);
    CHECK(third.empty);
    auto all = first.items;
    all.insert(all.end(), second.items.begin(), second.items.end());
    CHECK(sorted(all) == numbers(5));
  });
}

TEMPLATE_LIST_TEST_CASE("queue: batches of 0 succeed at once in any state", "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(1);
    co_await q.push(1);
    std::vector<int> none;
    const std::size_t pushed = co_await q.push_many(none);
    CHECK(pushed == 0);
    q.close();
    const auto nothing = co_await q.pop_many(0);
    REQUIRE(nothing);
    CHECK(nothing->empty());
    CHECK(q.size() == 1);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: a cancelled pop_many returns its items", "[queue]",
                        holding_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(10);
    std::vector<int> items = numbers(3);
    co_await q.push_many(items);
    outcome batch;
    leat::task_group g;
    g.spawn(pop_some(q, 4, false, batch));
    co_await settle();
    CHECK(q.size() == 0);
    g.request_stop();
    co_await g.join();
    CHECK(batch.cancelled);
    CHECK(q.size() == 3);
    const auto all = co_await q.pop_many(3);
    REQUIRE(all);
    CHECK(sorted(*all) == numbers(3));
  });
}

TEMPLATE_LIST_TEST_CASE("queue: a cancelled push_many reports the number of added items", "[queue]",
                        all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(3);
    outcome o;
    leat::task_group g;
    g.spawn(push_all(q, numbers(8), o));
    co_await settle();
    const auto item = co_await q.pop();
    CHECK(item);
    g.request_stop();
    co_await g.join();
    CHECK(o.cancelled);
    CHECK(o.pushed == 4);
    CHECK(q.size() == 3);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: a cancelled operation has no effect and lets later ones advance",
                        "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(4);
    outcome cancelled;
    outcome served;
    leat::task_group first;
    leat::task_group second;
    first.spawn(pop_some(q, 3, false, cancelled));
    co_await settle();
    second.spawn(pop_one(q, served));
    co_await settle();
    co_await q.push(1);
    co_await settle();
    CHECK_FALSE(served.ended);  // it waits after the batch of three
    first.request_stop();
    co_await first.join();
    co_await second.join();
    CHECK(cancelled.cancelled);
    CHECK(served.items == std::vector<int>{1});
  });
}

TEMPLATE_LIST_TEST_CASE("queue: an operation of a stopped task throws cancelled at once", "[queue]",
                        all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(4);
    co_await q.push(1);
    outcome pop;
    outcome push;
    leat::task_group g;
    g.request_stop();
    g.spawn(pop_one(q, pop));
    g.spawn(push_one(q, 2, push));
    co_await g.join();
    CHECK(pop.cancelled);
    CHECK(push.cancelled);
    CHECK(q.size() == 1);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: fail lets items drain, then throws the cause", "[queue]",
                        all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(4);
    co_await q.push(1);
    q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "a.txt is damaged")));
    const auto item = co_await q.pop();
    CHECK(item == 1);
    std::string why;
    try {
      co_await q.pop();
    } catch (const leat::failure& e) {
      why = e.what();
    }
    CHECK(why.find("a.txt is damaged") != std::string::npos);
    bool refused = false;
    try {
      co_await q.push(2);
    } catch (const leat::failure&) {
      refused = true;
    }
    CHECK(refused);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: try operations never overtake waiting operations", "[queue]",
                        all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(1);
    co_await q.push(1);
    outcome waiting;
    leat::task_group g;
    g.spawn(push_one(q, 2, waiting));
    co_await settle();
    CHECK_FALSE(q.try_push(3));
    auto item = q.try_pop();
    CHECK(item);
    co_await g.join();
    CHECK(waiting.accepted);
    item = q.try_pop();
    CHECK(item);
    item = q.try_pop();
    CHECK_FALSE(item);
    CHECK(q.try_push(4));
  });
}

TEMPLATE_LIST_TEST_CASE("queue: statistics count items in, items out and waits", "[queue]",
                        all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(2);
    outcome o;
    leat::task_group g;
    g.spawn(push_all(q, numbers(3), o));
    co_await settle();
    auto s = q.statistics();
    CHECK(s.size == 2);
    CHECK(s.capacity == 2);
    CHECK(s.waiting_pushes == 1);
    CHECK(s.push_waits == 1);
    for (int i = 0; i < 3; ++i) co_await q.pop();
    co_await g.join();
    s = q.statistics();
    CHECK(s.pushed == 3);
    CHECK(s.popped == 3);
    CHECK(s.peak_size == 2);
    CHECK(s.waiting_pushes == 0);
  });
}

TEMPLATE_LIST_TEST_CASE("queue: many producers and consumers lose and duplicate no item", "[queue]",
                        all_queues) {
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{3}, std::size_t{64}}) {
    on_virtual_time([capacity]() -> task<> {
      auto q = TestType::make(capacity);
      std::vector<int> seen;
      leat::task_group producers;
      leat::task_group consumers;
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

TEMPLATE_LIST_TEST_CASE("queue: results do not change if other tasks run in between", "[queue]",
                        all_queues) {
  on_virtual_time([]() -> task<> {
    auto q = TestType::make(4);
    for (int i = 0; i < 2000; ++i) {  // more than the budget of a turn
      const bool in = co_await q.push(int{i});
      REQUIRE(in);
      const auto item = co_await q.pop();
      REQUIRE(item == i);
      std::vector<int> two{i, i};
      const std::size_t pushed = co_await q.push_many(two);
      REQUIRE(pushed == 2);
      const auto batch = co_await q.pop_many(2);
      REQUIRE(batch == two);
      const auto none = co_await q.pop_many(0);
      REQUIRE(none);
    }
  });
}

TEMPLATE_LIST_TEST_CASE("queue: accepts move-only items", "[queue]", all_queues) {
  on_virtual_time([]() -> task<> {
    leat::fifo_queue<std::unique_ptr<int>> q(2);
    co_await q.push(std::make_unique<int>(3));
    const auto item = co_await q.pop();
    REQUIRE(item);
    CHECK(**item == 3);
  });
}

}  // namespace queue_contract_test
