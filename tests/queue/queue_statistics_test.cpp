#include "leat/queue/queue_statistics.hpp"

#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

// The statistics of queues, and the descriptions of queues and their waiting operations.

namespace queue_statistics_test {

// Stops the group of a waiting operation and returns the message of the exception that it throws.
template <class Operation>
task<std::string> cancelled(Operation operation) {
  std::string what;
  task_group g;
  g.spawn([](auto run, std::string& said) -> task<> {
    said = co_await message_of<leat::failure>(run());
  }(operation, what));
  co_await settle();
  g.request_stop();
  co_await g.join();
  co_return what;
}

TEST_CASE("queue_statistics: start at zero, also those of a new queue") {
  CHECK(leat::queue_statistics().capacity == 0);
  CHECK(fifo::make(3).statistics().capacity == 3);
  for (const auto& s : {leat::queue_statistics(), fifo::make(3).statistics()}) {
    CAPTURE(s.capacity);
    CHECK(s.size == 0);
    CHECK(s.min_after_dequeue == 0);
    CHECK(s.peak_size == 0);
    CHECK(s.waiting_pushes == 0);
    CHECK(s.waiting_pops == 0);
    CHECK(s.held == 0);
    CHECK(s.pushed == 0);
    CHECK(s.popped == 0);
    CHECK(s.returned == 0);
    CHECK(s.push_waits == 0);
    CHECK(s.pop_waits == 0);
    CHECK_FALSE(s.closed);
  }
}

LEAT_TEST("queue_statistics: count an item that goes to a waiting pop") {
  leat::fifo_queue<int> q(3);
  actors a(q);
  const outcome& got = a.pop();
  co_await settle();
  co_await q.push(7);
  co_await a.join();
  CHECK(got.items == std::vector<int>{7});
  const auto s = q.statistics();
  CHECK(s.peak_size == 1);
  CHECK(s.pushed == 1);
  CHECK(s.popped == 1);
  CHECK(s.pop_waits == 1);
  CHECK(s.size == 0);
}

LEAT_TYPED_LIST_TEST("queue_statistics: do not count items of a waiting batch as popped",
                     holding_queues) {
  auto q = TestType::make(4);
  for (int round = 1; round <= 2; ++round) {  // the first round leaves no trace
    actors a(q);
    a.pop_many(3);
    co_await settle();
    CHECK(co_await q.push(1));
    CHECK(co_await q.push(2));
    co_await settle();
    const auto before = q.statistics();
    CHECK(before.size == 0);
    CHECK(before.held == 2);
    CHECK(before.pushed == before.popped + 2);
    CHECK(before.waiting_pops == 1);
    CHECK(before.popped == 3 * static_cast<std::size_t>(round - 1));
    CHECK(co_await q.push(3));
    co_await a.join();
    const auto after = q.statistics();
    CHECK(after.waiting_pops == 0);
    CHECK(after.held == 0);
    CHECK(after.pop_waits == static_cast<std::size_t>(round));
    CHECK(after.popped == 3 * static_cast<std::size_t>(round));
    CHECK(after.returned == 0);
  }
}

LEAT_TYPED_LIST_TEST("queue_statistics: count items that a cancelled batch returns",
                     holding_queues) {
  auto q = TestType::make(4);
  for (std::size_t round = 1; round <= 2; ++round) {
    actors a(q);
    a.pop_many(5);
    co_await settle();
    if (round == 1) {
      CHECK(co_await q.push(1));
      CHECK(co_await q.push(2));
    }
    co_await settle();
    CHECK(q.size() == 0);
    co_await a.cancel();
    const auto s = q.statistics();
    CHECK(s.size == 2);
    CHECK(s.held == 0);
    CHECK(s.pushed == 2);
    CHECK(s.popped == 0);
    CHECK(s.returned == 2 * round);
  }
}

LEAT_TYPED_LIST_TEST("queue_statistics: count items that a batch returns at a close",
                     holding_queues) {
  auto q = TestType::make(4);
  actors a(q);
  const outcome& o = a.pop_many(3);
  co_await settle();
  CHECK(co_await q.push(1));
  q.close();
  co_await a.join();
  const auto s = q.statistics();
  CHECK(o.empty);
  CHECK(s.size == 1);
  CHECK(s.popped == 0);
  CHECK(s.returned == 1);
  CHECK(s.closed);
}

LEAT_TYPED_LIST_TEST("queue_statistics: do not count a waiting close as a push", holding_queues) {
  auto q = TestType::make(1);
  CHECK(co_await q.push(1));
  actors a(q);
  const outcome& o = a.push(2);
  co_await settle();
  CHECK(q.close());
  auto s = q.statistics();
  CHECK(s.waiting_pushes == 1);
  CHECK(s.push_waits == 1);
  CHECK_FALSE(s.closed);
  CHECK_FALSE(q.close());  // the first close still waits
  CHECK(co_await q.pop());
  co_await a.join();
  s = q.statistics();
  CHECK(o.accepted);
  CHECK(s.waiting_pushes == 0);
  CHECK(s.closed);
  CHECK(s.peak_size == 1);
}

LEAT_TEST("queue_statistics: do not count operations that need not wait") {
  auto q = fifo::make(4);
  std::vector<int> two{1, 2};
  CHECK(co_await q.push_many(two) == 2);
  const auto out = co_await q.pop_many(2);
  CHECK(out == std::vector<int>{1, 2});
  const auto s = q.statistics();
  CHECK(s.push_waits == 0);
  CHECK(s.pop_waits == 0);
  CHECK(s.peak_size == 2);
  CHECK(s.popped == 2);
}

LEAT_TEST("queue_statistics: the peak includes items that a batch has returned") {
  auto q = fifo::make(2);
  actors a(q);
  a.pop_many(4);
  co_await settle();
  for (const int i : {1, 2, 3}) CHECK(co_await q.push(int{i}));  // the batch holds them
  CHECK(q.statistics().held == 3);
  co_await a.cancel();
  CHECK(q.statistics().size == 3);
  CHECK(q.statistics().returned == 3);
  CHECK(q.statistics().peak_size == 3);
}

TEST_CASE("queue_statistics: have a minimum size of 0 after the close") {
  leat::random_shuffle_queue<int> q({.capacity = 4, .min_after_dequeue = 2, .seed = 1});
  CHECK(q.statistics().min_after_dequeue == 2);
  q.close();
  CHECK(q.statistics().min_after_dequeue == 0);
}

LEAT_TEST("queue: describe() returns name, fill level and whether it is closed") {
  leat::fifo_queue<int> q(4, "lines");
  CHECK(co_await q.push(1));
  CHECK(described(q) == "queue 'lines' (1 of 4)");
  CHECK(q.capacity() == 4);
  q.close();
  CHECK(described(q) == "queue 'lines' (1 of 4, closed)");
  CHECK(described(leat::fifo_queue<int>(leat::unbounded, "all")) == "queue 'all' (0)");
}

LEAT_TEST("queue: the error of a cancelled operation names the queue and the progress") {
  leat::fifo_queue<int> q(2, "lines");
  const std::string pop = co_await cancelled([&q]() -> task<> { co_await q.pop(); });
  CHECK(contains(pop, "pop from queue 'lines' (0 of 2)"));
  CHECK_FALSE(contains(pop, "done"));
  std::vector<int> three{1, 2, 3};
  const std::string push = co_await cancelled([&]() -> task<> { co_await q.push_many(three); });
  CHECK(contains(push, "push to queue 'lines' (2 of 2), 2 of 3 done"));
}

LEAT_TEST("queue: a push that fails or is cancelled with nothing in is not partial") {
  for (const bool fails : {true, false}) {
    leat::fifo_queue<int> q(1);
    CHECK(q.try_push(1));
    bool partial = true;
    bool partial_run = false;
    errc code = errc::unknown;
    task_group g;
    g.spawn([](auto& to, bool& is_partial, errc& what) -> task<> {
      try {
        co_await to.push(2);
      } catch (const leat::failure& e) {
        is_partial = dynamic_cast<const leat::partial_push_error*>(&e) != nullptr;
        what = e.code() == errc::data_loss ? errc::data_loss : errc::cancelled;
      }
    }(q, partial, code));
    g.spawn([](auto& to, bool& is_partial) -> task<> {
      std::vector<int> two{3, 4};
      try {
        co_await to.push_many(two);
      } catch (const leat::failure& e) {
        is_partial = dynamic_cast<const leat::partial_push_error*>(&e) != nullptr;
      }
    }(q, partial_run));
    co_await settle();
    if (fails) {
      q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "a.txt is damaged")));
    } else {
      q.close_and_cancel();
    }
    co_await g.join();
    CHECK_FALSE(partial);
    CHECK(code == (fails ? errc::data_loss : errc::cancelled));
    CHECK(partial_run != fails);  // without added items, the failure is the cause itself
  }
}

LEAT_TEST("queue_statistics: count the items that a closed queue refuses", "[queue]") {
  leat::fifo_queue<int> q(1, "q");
  CHECK(co_await q.push(1));
  leat::task_group g;
  g.spawn([](leat::fifo_queue<int>& to) -> task<> { co_await to.push_many({2, 3}); }(q));
  co_await settle();
  q.close_and_cancel();  // the waiting push adds neither of its items
  CHECK_FALSE(co_await q.push(4));
  CHECK_FALSE(q.try_push(5));
  CHECK(q.try_push_many({6, 7}) == 0);
  CHECK(q.statistics().refused == 6);
  CHECK(described(q) == "queue 'q' (1 of 1, closed, 6 refused)");
  CHECK_THROWS_AS(co_await g.join(), leat::failure);
}

TEST_CASE("queue_statistics: a push that fails for another reason is not refused", "[queue]") {
  leat::fifo_queue<int> q(1, "q");
  CHECK(q.try_push(1));
  CHECK_FALSE(q.try_push(2));  // full
  CHECK(q.statistics().refused == 0);
}

}  // namespace queue_statistics_test
