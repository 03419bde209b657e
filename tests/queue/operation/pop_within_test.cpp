// Batches that a time limits.

#include <algorithm>
#include <exception>
#include <thread>

#include <asio/io_context.hpp>

#include "leat/queue.hpp"
#include "leat/sim/world/sweep.hpp"
#include "queue/operation/queue_tasks.hpp"
#include "queue/weight/weighed_queues.hpp"
#include "support/leat_test.hpp"

namespace pop_within_test {

using numbers = std::vector<int>;

// Pushes 1, 2, 3, ... up to `last`, one at the end of each interval.
template <class Queue>
task<> push_slowly(Queue& q, int last, leat::duration interval) {
  for (int i = 1; i <= last; ++i) {
    co_await leat::sleep_for(interval);
    co_await q.push(int{i});
  }
}

LEAT_TEST("pop_within: the time begins with the first item") {
  leat::fifo_queue<int> q(64);
  const leat::scheduler& here = leat::this_task::get_scheduler();
  task_group group;
  co_await leat::sleep_for(1h);
  group.spawn(push_slowly(q, 9, 7ms));
  const leat::time_point start = here.now();
  const auto batch = co_await q.pop_within(64, 20ms);
  CHECK(batch == numbers{1, 2, 3});
  CHECK(here.now() - start == 27ms);
  co_await group.join();
  CHECK(q.size() == 6);
}

LEAT_TEST("pop_within: a batch that is complete does not wait") {
  leat::fifo_queue<int> q(64);
  const leat::scheduler& here = leat::this_task::get_scheduler();
  const leat::time_point start = here.now();
  co_await q.push_many({1, 2, 3, 4});
  const auto all = co_await q.pop_within(3, 1h);
  CHECK(all == numbers{1, 2, 3});
  CHECK(here.now() == start);
  task_group group;
  group.spawn(push_slowly(q, 9, 1ms));
  const auto more = co_await q.pop_within(4, 1h);
  CHECK(more == numbers{4, 1, 2, 3});
  CHECK(here.now() - start == 3ms);
  co_await group.join();
}

LEAT_TEST("pop_within: a batch may exceed the capacity") {
  leat::fifo_queue<int> q(2);
  task_group group;
  group.spawn(push_slowly(q, 9, 1ms));
  const auto batch = co_await q.pop_within(9, 1h);
  CHECK(batch == numbers{1, 2, 3, 4, 5, 6, 7, 8, 9});
  co_await group.join();
}

LEAT_TEST("pop_within: with a time of 0, takes the items that are there") {
  leat::fifo_queue<int> q(64);
  co_await q.push_many({1, 2, 3});
  for (const leat::duration time : {0ms, -1ms}) {
    const auto batch = co_await q.pop_within(2, time);
    CHECK(batch == (time == 0ms ? numbers{1, 2} : numbers{3}));
  }
}

LEAT_TEST("pop_within: zero items succeed at once, also on a closed queue") {
  leat::fifo_queue<int> q(4);
  q.close();
  auto none = co_await q.pop_within(0, 1h);
  CHECK(none == numbers());
  auto end = co_await q.pop_within(1, 1h);
  CHECK_FALSE(end);
}

LEAT_TEST("pop_within: a close returns the items that have arrived, then the end") {
  leat::fifo_queue<int> q(4);
  task_group group;
  group.spawn([](auto& to) -> task<> {
    co_await to.push(1);
    co_await leat::sleep_for(1ms);
    co_await to.push(2);
    to.close();
  }(q));
  const auto batch = co_await q.pop_within(64, 1h);
  CHECK(batch == numbers{1, 2});
  CHECK_FALSE(co_await q.pop_within(64, 1h));
  co_await group.join();
}

LEAT_TEST("pop_within: a failure of the queue is the result of the next call") {
  leat::fifo_queue<int> q(4);
  task_group group;
  group.spawn([](auto& to) -> task<> {
    co_await to.push(1);
    co_await leat::sleep_for(1ms);
    to.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "a.txt is damaged")));
  }(q));
  const auto batch = co_await q.pop_within(64, 1h);
  CHECK(batch == numbers{1});
  const auto [ec, none] = co_await leat::as_tuple(q.pop_within(64, 1h));
  CHECK(ec == errc::data_loss);
  CHECK_FALSE(none);
  co_await group.join();
}

struct result {
  std::optional<numbers> batch;
  std::error_code error;
  bool ended = false;
};

template <class Queue>
task<> pop_into(Queue& q, std::size_t count, leat::duration time, result& r) {
  try {
    r.batch = co_await q.pop_within(count, time);
  } catch (const leat::failure& e) {
    r.error = e.code();
  }
  r.ended = true;
}

LEAT_TEST("pop_within: a stop or a limit returns the items that have arrived") {
  leat::fifo_queue<int> q(4);
  for (const bool has_item : {false, true}) {
    result r;
    task_group group;
    group.spawn(pop_into(q, 3, 1h, r));
    if (has_item) co_await q.push(1);
    co_await leat::sleep_for(1ms);
    CHECK_FALSE(r.ended);
    group.request_stop();
    co_await group.join();
    CHECK(r.batch == (has_item ? std::optional(numbers{1}) : std::nullopt));
    CHECK(r.error == (has_item ? std::error_code() : make_error_code(errc::cancelled)));
    const auto [late, none] = co_await leat::as_tuple(leat::with_timeout(q.pop_within(3, 1h), 1ms));
    CHECK(late == errc::deadline_exceeded);
    if (has_item) co_await q.push(2);
    const auto [ec, some] = co_await leat::as_tuple(leat::with_timeout(q.pop_within(3, 1h), 1ms));
    CHECK(ec == (has_item ? std::error_code() : make_error_code(errc::deadline_exceeded)));
    if (has_item) CHECK(some == numbers{2});
  }
}

LEAT_TEST("pop_within: in a select, an item decides") {
  leat::fifo_queue<int> q(4);
  auto first = co_await leat::select(q.pop_within(3, 1h), leat::sleep_for(1ms));
  CHECK(first.index() == 1);
  co_await q.push(1);
  auto second = co_await leat::select(q.pop_within(3, 1h), leat::sleep_for(1ms));
  REQUIRE(second.index() == 0);
  CHECK(std::get<0>(second) == numbers{1});
}

LEAT_TEST("pop_within: other consumers that wait lose no item") {
  leat::fifo_queue<int> q(64);
  result a;
  result b;
  task_group group;
  group.spawn(pop_into(q, 4, 20ms, a));
  co_await q.push(1);
  co_await leat::sleep_for(5ms);
  group.spawn(pop_into(q, 4, 20ms, b));
  for (int i = 2; i <= 3; ++i) co_await q.push(int{i});
  co_await group.join();
  CHECK(a.batch == numbers{1, 3});  // the other one waited for its first item
  CHECK(b.batch == numbers{2});
  CHECK(q.size() == 0);
}

// -------------------------------------------------------------------------------- kinds of queues

LEAT_TEST("pop_within: leaves the minimum size of a shuffle queue") {
  leat::random_shuffle_queue<int> q({.capacity = 8, .min_after_dequeue = 2, .seed = 1});
  co_await q.push_many({1, 2, 3, 4, 5});
  const auto batch = co_await q.pop_within(6, 10ms);
  REQUIRE(batch);
  CHECK(batch->size() == 3);
  CHECK(q.size() == 2);
}

LEAT_TEST("pop_within: takes the first items of a priority queue") {
  leat::priority_queue<int> q(4);
  task_group group;
  group.spawn(push_slowly(q, 3, 1ms));
  co_await q.push_many({15, 13, 14});
  const auto full = co_await q.pop_within(2, 10ms);
  CHECK(full == numbers{13, 14});
  const auto rest = co_await q.pop_within(4, 10ms);
  CHECK(rest == numbers{15, 1, 2, 3});  // the first one was taken before the others arrived
  const auto [ec, none] = co_await leat::as_tuple(q.pop_within(5, 10ms));
  CHECK(ec == errc::invalid_argument);  // a batch that can never be complete
  co_await group.join();
}

struct by_value {
  std::size_t operator()(int i) const { return static_cast<std::size_t>(i); }
};
using weighed_queue = leat::fifo_queue<int, by_value>;

LEAT_TEST("pop_within: frees the weight of the items") {
  weighed_queue q({.capacity = 8, .max_weight = 10});
  task_group group;
  group.spawn(push_slowly(q, 5, 1ms));
  const auto batch = co_await q.pop_within(5, 1h);
  CHECK(batch == numbers{1, 2, 3, 4, 5});
  CHECK(q.statistics().weight == 0);
  co_await group.join();
}

LEAT_TEST("pop_within: reuses memory") {
  leat::fifo_queue<int> q(8);
  co_await q.push_many({1, 2, 3});
  numbers memory{7, 8, 9, 10};
  const int* const place = memory.data();
  const auto batch = co_await q.pop_within(4, 1ms, std::move(memory));
  CHECK(batch == numbers{1, 2, 3});
  CHECK(batch->data() == place);
}

// --------------------------------------------------------------------------- destroyed schedulers

template <class Queue>
void destroy_while_it_waits(Queue& q) {
  bool returned = false;
  {
    asio::io_context io;
    leat::async_run(
        io,
        [](Queue& from, bool& done) -> task<> {
          static_cast<void>(co_await from.pop_within(5, 1h));
          done = true;
        }(q, returned),
        [](const std::exception_ptr&) {});
    io.poll();
    for (int i = 1; i <= 3; ++i) {
      REQUIRE(q.try_push(int{i}));
      io.poll();
    }
    CHECK(q.size() == 0);
  }
  CHECK_FALSE(returned);
  CHECK(q.size() == 3);
  for (int i = 1; i <= 3; ++i) CHECK(q.try_pop() == i);
}

TEST_CASE("pop_within: the items of a destroyed task return to the front") {
  leat::fifo_queue<int> q(8);
  destroy_while_it_waits(q);
  weighed_queue weighed({.capacity = 8, .max_weight = 10});
  destroy_while_it_waits(weighed);
  CHECK(weighed.statistics().returned_weight == 6);
  CHECK(weighed.statistics().weight == 0);
}

// ---------------------------------------------------------------------------------------- threads

TEST_CASE("wait_pop_within: returns what arrives within the time") {
  leat::fifo_queue<int> q(8);
  CHECK(q.try_push_many({1, 2, 3}) == 3);
  CHECK(leat::block_on(q.pop_within(2, 1h)) == numbers{1, 2});
  CHECK(leat::block_on(q.pop_within(2, 1ms)) == numbers{3});
  CHECK(leat::block_on(q.pop_within(0, 1ms)) == numbers());
  std::jthread late([&q] {
    CHECK(leat::block_on(q.push(4)));
    CHECK(leat::block_on(q.push(5)));
  });
  CHECK(leat::block_on(q.pop_within(2, 1h)) == numbers{4, 5});
  CHECK_THROWS_AS(leat::block_on(q.pop_within(2, 1h), leat::wait_limit(1ms)), leat::failure);
  CHECK(q.try_push(6));
  CHECK(leat::block_on(q.pop_within(2, 1h), leat::wait_limit(1ms)) == numbers{6});
  CHECK(q.try_push(7));
  q.close();
  CHECK(leat::block_on(q.pop_within(2, 1h)) == numbers{7});
  CHECK_FALSE(leat::block_on(q.pop_within(2, 1h)));
}

TEST_CASE("wait_pop_within: a stop returns the items that have arrived") {
  leat::fifo_queue<int> q(8);
  std::stop_source stop;
  std::jthread consumer([&] {
    CHECK(leat::block_on(q.pop_within(9, 1h), stop.get_token()) == numbers{1, 2});
    CHECK_THROWS_AS(leat::block_on(q.pop_within(9, 1h), stop.get_token()), leat::failure);
  });
  CHECK(q.try_push(1));
  while (q.size() > 0 || q.statistics().waiting_pops == 0) std::this_thread::yield();
  CHECK(q.try_push(2));
  while (q.statistics().held == 0) std::this_thread::yield();
  stop.request_stop();
  consumer.join();
  CHECK(q.size() == 0);
}

// -------------------------------------------------------------------------------------- all orders

constexpr int pushed = 12;

template <class Queue>
task<> collect(Queue& q, bool limited, numbers& seen, int& partial) {
  for (;;) {
    std::error_code ec;
    std::optional<numbers> batch;
    if (limited) {
      {
        auto outcome = co_await leat::as_tuple(leat::with_timeout(q.pop_within(4, 2ms), 3ms));
        ec = outcome.error;
        batch = std::move(outcome.value);
      }
    } else {
      {
        auto outcome = co_await leat::as_tuple(q.pop_within(4, 2ms));
        ec = outcome.error;
        batch = std::move(outcome.value);
      }
    }
    if (ec == errc::deadline_exceeded) continue;
    if (ec || !batch) co_return;
    if (batch->size() < 4) ++partial;
    seen.insert(seen.end(), batch->begin(), batch->end());
  }
}

template <class Queue>
task<> pop_single(Queue& q, numbers& seen) {
  while (const auto item = co_await q.pop()) seen.push_back(*item);
}

// Items, limits, a stop and the close meet at the same instants, in an order that the seed decides.
task<> meet(int& partial) {
  weighed_queue q({.capacity = 3, .max_weight = 30, .name = "meeting"});
  numbers seen;
  task_group stopped;
  task_group consumers;
  task_group producers;
  stopped.spawn(collect(q, false, seen, partial));
  consumers.spawn(collect(q, true, seen, partial));
  consumers.spawn(collect(q, false, seen, partial));
  consumers.spawn(pop_single(q, seen));
  producers.spawn(push_slowly(q, pushed, 1ms));
  co_await leat::sleep_for(5ms);
  stopped.request_stop();
  co_await stopped.join();
  co_await producers.join();
  q.close();
  co_await consumers.join();
  std::sort(seen.begin(), seen.end());
  numbers all;
  for (int i = 1; i <= pushed; ++i) all.push_back(i);
  if (seen != all) throw leat::failure(errc::data_loss, "item lost or delivered twice");
  const leat::queue_statistics s = q.statistics();
  if (s.popped != pushed || s.held != 0 || s.weight != 0)
    throw leat::failure(errc::data_loss, "wrong counters");
}

TEST_CASE("pop_within: no item is lost at the instant of a limit, a stop or a close") {
  int partial = 0;
  leat::sim::sweep([&](leat::sim::world&) { return meet(partial); }, {.count = 300});
  CHECK(partial > 0);
}

}  // namespace pop_within_test
