#include "leat/queue/fifo_queue.hpp"

#include <exception>
#include <thread>

#include "queue/operation/queue_actors.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"

namespace fifo_queue_test {

task<> produce(leat::fifo_queue<int>& q, int count) {
  for (int i = 0; i < count; ++i) co_await q.push(int{i});
  q.close();
}

task<> pop_into(leat::fifo_queue<int>& q, std::vector<int>& out) {
  for (;;) {
    const auto item = co_await q.pop();
    if (!item) co_return;
    out.push_back(*item);
  }
}

LEAT_TEST("fifo_queue: items leave in the order in which they entered") {
  leat::fifo_queue<int> q(3);
  std::vector<int> out;
  task_group g;
  g.spawn(produce(q, 100));
  g.spawn(pop_into(q, out));
  co_await g.join();
  CHECK(out.size() == 100);
  CHECK(std::is_sorted(out.begin(), out.end()));
}

LEAT_TEST("fifo_queue: the items of a push of many stay contiguous") {
  leat::fifo_queue<int> q(2);
  struct pusher {
    static task<> run(leat::fifo_queue<int>& q, int first) {
      std::vector<int> items = {first, first + 1, first + 2, first + 3};
      co_await q.push_many(items);
    }
  };
  task_group g;
  for (int i = 0; i < 5; ++i) g.spawn(pusher::run(q, i * 10));
  std::vector<int> out;
  for (int i = 0; i < 20; ++i) out.push_back((co_await q.pop()).value());
  co_await g.join();
  for (std::size_t i = 0; i < 20; i += 4) {
    CHECK(out[i] % 10 == 0);
    CHECK(out[i + 3] == out[i] + 3);
  }
}

LEAT_TEST("fifo_queue: a cancelled batch returns its items to the front") {
  leat::fifo_queue<int> q(10);
  actors a(q);
  a.pop_many(5);
  co_await settle();
  for (int i = 1; i <= 3; ++i) co_await q.push(int{i});
  co_await a.cancel();
  co_await q.push(4);
  const auto all = co_await q.pop_many(4);
  CHECK(*all == std::vector<int>{1, 2, 3, 4});
}

LEAT_TEST("fifo_queue: an unbounded queue accepts every item") {
  leat::fifo_queue<int> q(leat::unbounded);
  std::vector<int> items(100'000, 1);
  CHECK(co_await q.push_many(items) == 100'000);
  CHECK(q.size() == 100'000);
  q.close();
}

TEST_CASE("fifo_queue: blocking calls exchange items with tasks of another thread") {
  leat::fifo_queue<int> q(4);
  std::jthread producer([&] { leat::block_on(produce(q, 1000)); });
  int expected = 0;
  for (;;) {
    const auto item = leat::block_on(q.pop());
    if (!item) break;
    CHECK(*item == expected++);
  }
  CHECK(expected == 1000);
}

TEST_CASE("fifo_queue: a rejected wait_push does not move from its value") {
  leat::fifo_queue<std::string> q(1);
  q.close();
  std::string value = "still here";
  CHECK_FALSE(leat::block_on(q.push(std::move(value))));
  CHECK(value == "still here");  // NOLINT(bugprone-use-after-move): that is the promise
}

TEST_CASE("fifo_queue: fail() without a cause ends the process with a message") {
  const std::string said = leat_test::abort_message([] { leat::fifo_queue<int>(1).fail(nullptr); });
  CHECK(contains(said, "fail() of a queue without a cause"));
}

LEAT_TEST("fifo_queue: the error of push_many contains the text of any failure") {
  const auto told = [](std::exception_ptr cause) -> task<std::string> {
    leat::fifo_queue<int> q(1, "q");
    std::string what;
    task_group g;
    g.spawn([](leat::fifo_queue<int>& to, std::string& text) -> task<> {
      std::vector<int> items(3);
      text = co_await message_of<leat::partial_push_error>(to.push_many(items));
    }(q, what));
    co_await leat::this_task::yield();
    q.fail(cause);
    co_await g.join();
    co_return what;
  };
  const std::string done = "push to queue 'q' (1 of 1, closed, 2 refused), 1 of 3 done: ";
  CHECK(co_await told(std::make_exception_ptr(std::runtime_error("disk on fire"))) ==
        done + "disk on fire: unknown error");
  CHECK(co_await told(std::make_exception_ptr(7)) ==
        done + "exception of an unknown type: unknown error");
}

LEAT_TEST("fifo_queue: push_many on a failing queue reports the number of added items") {
  leat::fifo_queue<int> q(2);
  std::size_t in = 0;
  bool caused = false;
  std::string what;
  task_group g;
  g.spawn(
      [](leat::fifo_queue<int>& to, std::size_t& count, bool& cause, std::string& text) -> task<> {
        std::vector<int> items(5);
        try {
          co_await to.push_many(items);
        } catch (const leat::partial_push_error& e) {
          count = e.count();
          cause = e.cause() != nullptr && e.code() == errc::data_loss;
          text = e.what();
        }
      }(q, in, caused, what));
  co_await settle();
  q.fail(std::make_exception_ptr(leat::failure(errc::data_loss, "damaged")));
  co_await g.join();
  CHECK(in == 2);
  CHECK(caused);
  CHECK(what == "push to queue '' (2 of 2, closed, 3 refused), 2 of 5 done: damaged: data loss");
  CHECK(q.size() == 2);
}

LEAT_TEST("fifo_queue: can store bool") {
  leat::fifo_queue<bool> q(4);
  bool items[] = {true, false, true};
  co_await q.push_many(items);
  task_group g;
  g.spawn([](leat::fifo_queue<bool>& all) -> task<> { co_await all.pop_many(4); }(q));
  co_await settle();
  g.request_stop();  // puts its items back in order
  co_await g.join();
  const auto back = co_await q.pop_many(3);
  REQUIRE(back);
  CHECK(*back == std::vector<bool>{true, false, true});
}

LEAT_TEST("fifo_queue: a batch too large for memory throws without effect") {
  leat::fifo_queue<int> q(4);
  leat::task_context& self = leat::this_task::get_context();
  const std::size_t too_many[] = {SIZE_MAX, SIZE_MAX / sizeof(int) - 1};
  for (const std::size_t count : too_many) {
    CHECK(co_await throws<std::bad_alloc>(q.pop_many(count)));
    CHECK(self.waiting() == nullptr);
  }
  CHECK(q.statistics().waiting_pops == 0);
  co_await q.push(1);
  CHECK(co_await q.pop() == 1);
}

LEAT_TEST("fifo_queue: batches that never wait let other tasks run") {
  leat::fifo_queue<int> q(64);
  int turns = 0;
  bool done = false;
  task_group g;
  g.spawn([](leat::fifo_queue<int>& both, bool& ended) -> task<> {
    std::vector<int> items(8);
    for (int i = 0; i < 5000; ++i) {
      co_await both.push_many(items);
      co_await both.pop_many(8);
    }
    ended = true;
  }(q, done));
  while (!done) {
    ++turns;
    co_await leat::this_task::yield();
  }
  co_await g.join();
  CHECK(turns > 10);
}

LEAT_TEST("fifo_queue: a coroutine destroyed between its pop and its turn returns the item") {
  // A foreign coroutine, since a leat task cannot be destroyed at this point.
  const auto pop = [](leat::fifo_queue<int>& q) -> leat_test::foreign_coroutine {
    co_await q.pop();
  };
  leat::fifo_queue<int> q(2);
  const leat_test::foreign_coroutine f = pop(q);
  co_await q.push(1);  // the pop has its item and waits for its turn
  co_await q.push(2);
  f.handle.destroy();
  CHECK(q.size() == 2);
  CHECK(co_await q.pop() == 1);
  CHECK(co_await q.pop() == 2);
}

LEAT_TEST("fifo_queue: a coroutine destroyed between its push and its turn has pushed") {
  const auto push = [](leat::fifo_queue<int>& q) -> leat_test::foreign_coroutine {
    co_await q.push(2);
  };
  leat::fifo_queue<int> q(1);
  co_await q.push(1);
  const leat_test::foreign_coroutine f = push(q);
  CHECK(co_await q.pop() == 1);
  f.handle.destroy();
  CHECK(co_await q.pop() == 2);
}

LEAT_TEST("select: a coroutine destroyed between its pop and its turn returns the item") {
  const auto pop = [](leat::fifo_queue<int>& a,
                      leat::fifo_queue<int>& b) -> leat_test::foreign_coroutine {
    co_await leat::select(a.pop(), b.pop());
  };
  leat::fifo_queue<int> a(1);
  leat::fifo_queue<int> b(1);
  const leat_test::foreign_coroutine f = pop(a, b);
  co_await b.push(1);
  f.handle.destroy();
  CHECK(a.size() == 0);
  CHECK(co_await b.pop() == 1);
}

TEST_CASE("fifo_queue: destruction during a wait ends the process with a message") {
  const std::string pop = leat_test::abort_message([] {
    leat::sim::virtual_scheduler s;
    task_group g;
    leat::fifo_queue<int> q(1, "numbers");
    std::vector<int> out;
    g.spawn_on(s, pop_into(q, out), "taker");
    s.run_now();
  });
  CHECK(contains(pop, "queue 'numbers' destroyed while operations wait on it"));
  CHECK(contains(pop, "\n  pop of taker, at "));
  const std::string push = leat_test::abort_message([] {
    leat::sim::virtual_scheduler s;
    task_group g;
    leat::fifo_queue<int> q(1);
    g.spawn_on(s, produce(q, 5));
    s.run_now();
  });
  CHECK(contains(push, "queue '' destroyed while operations wait on it"));
  CHECK(contains(push, "\n  push of task spawned at fifo_queue_test.cpp:"));
}

TEST_CASE("fifo_queue: awaiting an operation twice ends the process with a message") {
  const auto pop_twice = [](bool with_items) {
    return leat_test::abort_message([&] {
      leat::sim::run([](bool there) -> task<> {
        leat::fifo_queue<int> q(2);
        if (there) co_await produce(q, 2);
        task_group g;
        if (!there) g.spawn(produce(q, 2));
        auto next = q.pop();
        co_await next;
        co_await next;
        co_await g.join();
      }(with_items));
    });
  };
  CHECK(contains(pop_twice(true), "awaited twice"));
  CHECK(contains(pop_twice(false), "awaited twice"));
}

}  // namespace fifo_queue_test
