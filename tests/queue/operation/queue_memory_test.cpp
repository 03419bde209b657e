#include <new>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include "leat/queue/completion_tokens.hpp"
#include "queue/exact_queue.hpp"
#include "queue/operation/queue_actors.hpp"
#include "support/leat_test.hpp"

// The memory of a queue's storage. An operation reserves memory when it begins, so that no
// allocation is needed when another operation completes it. It reserves no more than may be needed.

namespace queue_memory_test {

constexpr std::size_t large = 1'000'000;  // not allocated immediately

TEST_CASE("queue: a small queue allocates at construction, a large one as needed") {
  room at_once;
  exact_queue small(64 * 1024 / sizeof(int), at_once);
  CHECK(at_once.reserved == small.capacity());
  room later;
  exact_queue bigger(64 * 1024 / sizeof(int) + 1, later);
  CHECK(later.reserved == 0);
}

TEST_CASE("queue: single pushes reserve memory for one more item") {
  room r;
  exact_queue q(large, r);
  for (std::size_t i = 1; i <= 3; ++i) {
    CHECK(q.try_push(1));
    CHECK(r.reserved == i);
  }
  CHECK(q.try_pop() == 1);
  CHECK(q.try_push(1));
  CHECK(r.reserved == 3);
  CHECK_FALSE(r.overrun);
}

LEAT_TEST("queue: a push of many reserves memory in addition to the stored items") {
  room r;
  exact_queue q(large, r);
  CHECK(q.try_push(1));
  auto run = numbers(10);
  CHECK(co_await q.push_many(run) == 10);
  CHECK(r.reserved == 11);
  CHECK_FALSE(r.overrun);
}

LEAT_TEST("queue: a push of more items than the capacity reserves memory for the capacity") {
  room r;
  exact_queue q(20'000, r);
  actors a(q);
  const outcome& o = a.push_many(numbers(50'000));
  co_await settle();
  CHECK(q.size() == 20'000);
  for (int i = 0; i < 50'000; ++i) static_cast<void>(co_await q.pop());
  co_await a.join();
  CHECK(o.pushed == 50'000);
  CHECK(r.reserved == 20'000);
  CHECK_FALSE(r.overrun);
}

LEAT_TEST("queue: a waiting batch reserves memory to return its items") {
  room r;
  exact_queue q(4, r);
  outcome batch;
  task_group waiting;
  waiting.spawn(pop_some(q, 6, false, batch));
  co_await settle();
  auto five = numbers(5);
  co_await q.push_many(five);  // all items go to the batch
  waiting.request_stop();
  actors a(q);
  const outcome& refill = a.push_many(numbers(4));
  co_await waiting.join();
  CHECK(batch.cancelled);
  CHECK(q.size() >= 5);
  for (int i = 0; i < 5; ++i) CHECK(co_await q.pop() == i);
  co_await a.join();
  CHECK(refill.pushed == 4);
  CHECK(q.size() == 4);
  CHECK(r.reserved <= 4 + 6);
  CHECK_FALSE(r.overrun);
}

LEAT_TEST("queue: two waiting batches can both return their items") {
  room r;
  exact_queue q(2, r);
  actors a(q);
  const outcome& first = a.pop_many(5);
  const outcome& second = a.pop_up_to(3);
  co_await settle();
  auto four = numbers(4);
  co_await q.push_many(four);
  co_await a.cancel();
  CHECK(first.cancelled);
  CHECK(second.cancelled);
  CHECK(q.size() == 4);
  CHECK(r.reserved <= 2 + 5 + 3);
  CHECK_FALSE(r.overrun);
}

LEAT_TEST("queue: completed batches leave no reservation") {
  room r;
  exact_queue q(4, r);
  for (int i = 0; i < 100; ++i) {
    actors a(q);
    i % 2 == 0 ? a.pop_up_to(3) : a.pop_many(3);
    co_await settle();
    if (i % 3 == 0) {
      co_await a.cancel();
    } else {
      auto three = numbers(3);
      co_await q.push_many(three);
      co_await a.join();
    }
  }
  CHECK(q.size() == 0);
  CHECK(r.reserved <= 4 + 3);
  CHECK_FALSE(r.overrun);
}

LEAT_TEST("queue: waiting pushes have memory when space becomes free") {
  room r;
  exact_queue q(20'000, r);
  auto most = numbers(19'999);
  co_await q.push_many(most);
  actors a(q);
  a.push_many(numbers(3));
  a.push(1);
  const outcome& batch = a.pop_many(20'003);
  co_await a.join();
  CHECK(batch.items.size() == 20'003);
  CHECK(r.reserved <= 20'000 + 20'003);
  CHECK_FALSE(r.overrun);
}

LEAT_TEST("queue: a push to an unbounded queue reserves memory for its own items only") {
  room r;
  exact_queue q(leat::unbounded, r);
  auto run = numbers(10);
  co_await q.push_many(run);
  CHECK(r.reserved == 10);
  CHECK(co_await q.push(1));
  CHECK(r.reserved == 11);
  CHECK_FALSE(r.overrun);
}

LEAT_TEST("queue: an operation without memory throws and has no effect") {
  room r{.refuse = true};
  exact_queue q(large, r);
  leat::task_context& self = leat::this_task::get_context();
  CHECK_THROWS_AS(q.try_push(1), std::bad_alloc);
  auto run = numbers(3);
  CHECK(co_await throws<std::bad_alloc>(q.push_many(run)));
  CHECK(self.waiting() == nullptr);
  CHECK(co_await throws<std::bad_alloc>(q.pop_many(3)));
  CHECK(self.waiting() == nullptr);
  const auto s = q.statistics();
  CHECK(s.size == 0);
  CHECK(s.waiting_pops == 0);
  CHECK(s.waiting_pushes == 0);
  r.refuse = false;
  CHECK(co_await q.push(1));
  CHECK(co_await q.pop() == 1);
  CHECK(r.reserved == 1);
}

TEST_CASE("queue: an async_push without memory completes with an error") {
  room r{.refuse = true};
  exact_queue q(large, r);
  asio::io_context io;
  std::error_code result;
  q.async_push(1, asio::bind_executor(io, [&](std::error_code ec, bool in) {
                 result = ec;
                 CHECK_FALSE(in);
               }));
  CHECK_FALSE(result);
  io.run();
  CHECK(result == errc::resource_exhausted);
  CHECK(q.size() == 0);
}

LEAT_TEST("queue: a batch allocates its memory before it takes items") {
  leat::fifo_queue<int> q(8);
  auto five = numbers(5);
  co_await q.push_many(five);
  const auto batch = co_await q.pop_many(5);
  REQUIRE(batch);
  CHECK(batch->capacity() == 5);
}

}  // namespace queue_memory_test
