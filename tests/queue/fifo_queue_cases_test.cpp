// Where fifo_queue behaves like TensorFlow's FIFOQueue, and where it differs.

#include "leat/queue/fifo_queue.hpp"
#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

namespace fifo_queue_cases_test {

using queue = leat::fifo_queue<int>;
using list = std::vector<int>;

// The numbers from `first` to `last`, both included, in steps of `step`.
list steps(int first, int last, int step) {
  list all;
  for (int i = first; i <= last; i += step) all.push_back(i);
  return all;
}
list tens(int count) { return steps(10, 10 * count, 10); }

LEAT_TEST("fifo_queue: batches are contiguous sequences of the stored items") {
  queue q(10);
  for (const bool up_to : {false, true}) {
    fill(q, tens(10));
    for (const list& expected : {steps(10, 40, 10), steps(50, 80, 10)}) {
      if (up_to) {
        CHECK(co_await q.pop_up_to(4) == expected);
      } else {
        CHECK(co_await q.pop_many(4) == expected);
      }
    }
    CHECK(drain(q) == list{90, 100});
  }
}

LEAT_TEST("fifo_queue: items of waiting pushes follow the stored items") {
  queue q(4);
  fill(q, tens(4));
  actors a(q);
  const outcome& one = a.push(50);
  co_await settle();
  CHECK(co_await q.pop() == 10);
  co_await settle();
  CHECK(one.ended);
  const outcome& run = a.push_many({60, 70});
  co_await settle();
  CHECK_FALSE(run.ended);
  for (const int i : {20, 30, 40, 50, 60, 70}) CHECK(co_await q.pop() == i);
  co_await a.join();
}

LEAT_TEST("fifo_queue: a push after a waiting close ends after the push before it") {
  queue q(1);
  fill(q, {1});
  std::vector<std::string> ended;
  const auto push_and_note = [](queue& to, int value, std::vector<std::string>& notes) -> task<> {
    const bool in = co_await to.push(int{value});
    notes.push_back(std::to_string(value) + (in ? " in" : " refused"));
    if (to.is_closed()) notes.back() += ", closed";
  };
  task_group g;
  g.spawn(push_and_note(q, 2, ended));
  co_await settle();
  CHECK(q.close());
  g.spawn(push_and_note(q, 3, ended));
  co_await settle();
  CHECK_FALSE(q.is_closed());
  CHECK(ended.empty());
  CHECK(co_await q.pop() == 1);
  CHECK(q.is_closed());
  co_await g.join();
  CHECK(ended == std::vector<std::string>{"2 in, closed", "3 refused, closed"});
  CHECK(q.size() == 1);
  CHECK(drain(q) == list{2});
}

// TensorFlow's close waits, and fails if a cancelling close overtakes it. Here, close() returns
// immediately, and a later close_and_cancel() closes the queue at once.
LEAT_TEST("fifo_queue: close_and_cancel() overtakes a waiting close") {
  queue q(1);
  fill(q, {1});
  actors a(q);
  const outcome& waiting = a.push(2);
  co_await settle();
  CHECK(q.close());
  CHECK_FALSE(q.is_closed());
  const outcome& behind = a.push(3);
  co_await settle();
  q.close_and_cancel();
  CHECK(q.is_closed());
  CHECK_FALSE(q.close());
  co_await a.join();
  CHECK(waiting.cancelled);
  CHECK(behind.ended);
  CHECK_FALSE(behind.accepted);
  CHECK(drain(q) == list{1});
  CHECK(co_await q.pop() == std::nullopt);
}

LEAT_TEST("fifo_queue: a pop after a waiting batch waits until the batch is filled") {
  queue q(10);
  actors a(q);
  const outcome& batch = a.pop_many(3);
  const outcome& single = a.pop();
  co_await settle();
  for (int i = 1; i <= 4; ++i) {
    CHECK_FALSE(single.ended);
    CHECK(q.try_push(i));
    co_await settle();
  }
  CHECK(batch.items == list{1, 2, 3});
  CHECK(single.items == list{4});
  co_await a.join();
}

LEAT_TEST("fifo_queue: a close completes waiting batches in order") {
  queue q(10);
  actors a(q);
  const outcome& first = a.pop_up_to(3);
  const outcome& second = a.pop_up_to(3);
  const outcome& third = a.pop_up_to(3);
  co_await settle();
  fill(q, {1, 2, 3, 4, 5});
  co_await settle();
  CHECK(first.items == list{1, 2, 3});
  q.close();
  co_await a.join();
  CHECK(second.items == list{4, 5});
  CHECK(third.empty);
}

LEAT_TEST("fifo_queue: a later push does not split a waiting push_many") {
  queue q(2);
  actors a(q);
  const outcome& run = a.push_many(steps(1, 5, 1));
  const outcome& single = a.push(9);
  co_await settle();
  const list expected = {1, 2, 3, 4, 5, 9};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(run.ended == (i >= 3));
    CHECK(single.ended == (i >= 4));
    CHECK(co_await q.pop() == expected[i]);
    co_await settle();
  }
  co_await a.join();
}

LEAT_TEST("fifo_queue: waiting pushes enter one by one, in order") {
  queue q(1);
  fill(q, {0});
  actors a(q);
  std::vector<outcome*> pushes;
  for (int i = 1; i <= 3; ++i) pushes.push_back(&a.push(i));
  co_await settle();
  for (int i = 0; i <= 3; ++i) {
    for (int p = 1; p <= 3; ++p) CHECK(pushes[static_cast<std::size_t>(p - 1)]->ended == (p <= i));
    CHECK(co_await q.pop() == i);
    co_await settle();
  }
  co_await a.join();
}

LEAT_TEST("fifo_queue: all waiting operations can be cancelled together") {
  queue empty(1);
  queue full(1);
  fill(full, {0});
  actors at_empty(empty);
  actors at_full(full);
  const outcome* const all[] = {&at_empty.pop(), &at_empty.pop_many(1), &at_full.push(1),
                                &at_full.push_many({1, 2})};
  co_await settle();
  co_await at_empty.cancel();
  co_await at_full.cancel();
  for (const outcome* o : all) CHECK(o->cancelled);
  CHECK(drain(full) == list{0});
}

// The end of a queue is not an error that could report the number of items. The queue's statistics
// report it: three for a batch of four.
LEAT_TEST("fifo_queue: too few items for a batch stay in the queue") {
  queue q(10);
  fill(q, {1, 2, 3});
  actors a(q);
  const outcome& waiting = a.pop_many(4);
  co_await settle();
  q.close();
  co_await a.join();
  CHECK(waiting.empty);
  CHECK(q.size() == 3);
  CHECK(q.statistics().returned == 3);
  CHECK(co_await q.pop_many(4) == std::nullopt);
  CHECK(q.size() == 3);
  CHECK(drain(q) == list{1, 2, 3});
}

TEST_CASE("fifo_queue: queues are independent, with equal names too") {
  queue q(2, "same");
  queue q2(2, "same");
  CHECK(q.try_push(1));
  CHECK(q2.try_push(2));
  CHECK(q2.try_pop() == 2);
  CHECK(q.try_pop() == 1);
}

}  // namespace fifo_queue_cases_test
