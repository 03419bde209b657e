// Queues whose waiting operations belong to a destroyed execution context. No item is lost, no
// handler is called, and no operation uses the context afterwards.

#include <atomic>
#include <thread>

#include "leat/coordination/coordinator.hpp"
#include "leat/queue.hpp"
#include "support/asio_test.hpp"
#include "support/loops.hpp"

namespace scheduler_end_queues_test {

using leat_test::asio_loop;
using leat_test::embedded_loop;
using leat_test::is_cancelled;
using queue = leat::fifo_queue<std::unique_ptr<int>>;

std::unique_ptr<int> item(int n) { return std::make_unique<int>(n); }

// Returns all items in a queue, from the front.
std::vector<int> drain(queue& q) {
  std::vector<int> all;
  while (auto i = q.try_pop()) all.push_back(**i);
  return all;
}

// ------------------------------------------------------------------------------------- handlers

TEST_CASE("queue and context: an item of an undelivered handler returns to the front") {
  queue q(4);
  bool called = false;
  {
    asio::io_context io;
    q.async_pop(asio::bind_executor(io, [&](std::error_code, auto) { called = true; }));
    SECTION("pushed here") {
      REQUIRE(q.try_push(item(1)));
      REQUIRE(q.try_push(item(2)));
    }
    SECTION("pushed by another thread") {
      std::thread([&] {
        REQUIRE(leat::block_on(q.push(item(1))));
        REQUIRE(leat::block_on(q.push(item(2))));
      }).join();
    }
  }
  CHECK_FALSE(called);
  CHECK(drain(q) == std::vector{1, 2});
}

TEST_CASE("queue and context: a batch of an undelivered handler returns to the front") {
  queue q(4);
  {
    asio::io_context io;
    q.async_pop_many(2, asio::bind_executor(io, [&](std::error_code, auto) {}));
    for (int n = 1; n <= 3; ++n) REQUIRE(q.try_push(item(n)));
    CHECK(q.size() == 1);
  }
  CHECK(drain(q) == std::vector{1, 2, 3});
}

TEST_CASE("queue and context: a pending async_push is withdrawn with its item") {
  queue q(1);
  REQUIRE(q.try_push(item(1)));
  auto handler_lives = std::make_shared<int>();
  const std::weak_ptr<int> watch = handler_lives;
  {
    asio::io_context io;
    q.async_push(item(2), asio::bind_executor(
                              io, [keep = std::move(handler_lives)](std::error_code, bool) {}));
    CHECK_FALSE(watch.expired());
  }
  CHECK(watch.expired());
  CHECK(drain(q) == std::vector{1});
}

TEST_CASE("queue and context: a handler may own the queue on which another one waits") {
  bool called = false;
  {
    asio::io_context io;
    auto q = std::make_shared<queue>(1);
    q->async_pop(asio::bind_executor(io, [&, q](std::error_code, auto) { called = true; }));
    q->async_pop(asio::bind_executor(io, [&, q](std::error_code, auto) { called = true; }));
  }
  CHECK_FALSE(called);
}

TEST_CASE("queue and context: the frame of a task may contain the queue of a handler") {
  bool called = false;
  task_group group;
  {
    asio::io_context io;
    group.spawn_on(leat::get_scheduler(io), [](asio::io_context& c, bool& out) -> task<> {
      queue q(1);
      q.async_pop(asio::bind_executor(c, [&](std::error_code, auto) { out = true; }));
      q.async_pop(asio::bind_executor(c, [&](std::error_code, auto) { out = true; }));
      co_await q.push(item(1));  // posted to the context but not called
      co_await leat::sleep_for(1h);
    }(io, called));
    io.poll_one();
  }
  CHECK_FALSE(called);
  CHECK(is_cancelled(group));
}

TEST_CASE("queue and context: the queue may be destroyed before an undelivered handler") {
  bool called = false;
  asio::io_context io;
  {
    queue q(4);
    q.async_pop(asio::bind_executor(io, [&](std::error_code, auto) { called = true; }));
    REQUIRE(q.try_push(item(1)));
  }
  CHECK_FALSE(called);
}

// ----------------------------------------------------------------------------------------- tasks

template <class Loop>
struct popping {
  queue q{4};
  task_group group;
  Loop loop;
  int received = 0;

  void spawn(task<> (*body)(popping&)) {
    group.spawn_on(loop.get_scheduler(), body(*this));
    loop.run_ready();
  }
  void end() {
    loop.end();
    CHECK(received == 0);
    CHECK(group.live_tasks() == 0);
    CHECK(is_cancelled(group));
  }
};

template <class Loop>
task<> pops(popping<Loop>& t) {
  const auto got = co_await t.q.pop();
  t.received += got ? 1 : 0;
}
template <class Loop>
task<> pops_many(popping<Loop>& t) {
  const auto got = co_await t.q.pop_many(2);
  t.received += got ? 1 : 0;
}
template <class Loop>
task<> pops_up_to(popping<Loop>& t) {
  const auto got = co_await t.q.pop_up_to(2);
  t.received += got ? 1 : 0;
}
template <class Loop>
task<> pops_in_time(popping<Loop>& t) {
  const auto got = co_await leat::with_timeout(t.q.pop(), 1h);
  t.received += got ? 1 : 0;
}
template <class Loop>
task<> selects(popping<Loop>& t) {
  static_cast<void>(co_await leat::select(leat::sleep_for(1h), t.q.pop()));
  ++t.received;
}

TEMPLATE_TEST_CASE("queue and scheduler: withdraws a task's pop in each of its states", "[queue]",
                   asio_loop, embedded_loop) {
  popping<TestType> t;
  t.spawn(GENERATE(&pops<TestType>, &pops_many<TestType>, &pops_up_to<TestType>,
                   &pops_in_time<TestType>, &selects<TestType>));
  std::vector<int> pushed;
  const auto push = [&](int n) {
    REQUIRE(t.q.try_push(item(n)));
    pushed.push_back(n);
  };
  SECTION("waits") {}
  SECTION("waits, and some of its items are there") { push(1); }
  SECTION("was served") {
    for (int n = 1; n <= 3; ++n) push(n);
  }
  SECTION("was served by another thread") {
    std::thread([&] {
      for (int n = 1; n <= 3; ++n) REQUIRE(leat::block_on(t.q.push(item(n))));
    }).join();
    pushed = {1, 2, 3};
  }
  SECTION("was served by the end of the queue") { t.q.close(); }
  t.end();
  CHECK(drain(t.q) == pushed);
}

template <class Loop>
task<> pushes(popping<Loop>& t) {
  for (int n = 1; n <= 4; ++n) co_await t.q.push(item(n));
  co_await t.q.push(item(5));
  ++t.received;
}
template <class Loop>
task<> pushes_run(popping<Loop>& t) {
  std::vector<std::unique_ptr<int>> items;
  for (int n = 1; n <= 5; ++n) items.push_back(item(n));
  co_await t.q.push_many(items);
  ++t.received;
}

TEMPLATE_TEST_CASE("queue and scheduler: withdraws a task's push in each of its states", "[queue]",
                   asio_loop, embedded_loop) {
  popping<TestType> t;
  t.spawn(GENERATE(&pushes<TestType>, &pushes_run<TestType>));
  std::vector<int> all{1, 2, 3, 4};
  SECTION("waits") {}
  SECTION("was served") {
    REQUIRE(**t.q.try_pop() == 1);
    all = {2, 3, 4, 5};  // a completed push keeps its effect
  }
  SECTION("was refused") { t.q.close_and_cancel(); }
  t.end();
  CHECK(drain(t.q) == all);
}

TEMPLATE_TEST_CASE("queue and scheduler: withdraws a completed pop that yields to other tasks",
                   "[queue]", asio_loop, embedded_loop) {
  // The 256th operation that completes immediately yields while it holds its item.
  leat::fifo_queue<int> q(1000);
  for (int n = 0; n < 1000; ++n) REQUIRE(q.try_push(n));
  task_group group;
  std::vector<int> received;
  TestType loop;
  const bool with_limit = GENERATE(false, true);
  group.spawn_on(loop.get_scheduler(),
                 [](leat::fifo_queue<int>& in, std::vector<int>& out, bool limited) -> task<> {
                   for (;;) {
                     std::optional<int> n;
                     if (limited) {
                       n = co_await leat::with_timeout(in.pop(), 1h);
                     } else {
                       n = co_await in.pop();
                     }
                     out.push_back(*n);
                     if (out.size() == 255) leat::scheduler::current()->yield_turn();
                   }
                 }(q, received, with_limit));
  if constexpr (std::is_same_v<TestType, asio_loop>) {
    loop.context().run_one();
  } else {
    static_cast<leat::embedded_scheduler&>(loop.get_scheduler()).run_ready(1);
  }
  REQUIRE(received.size() == 255);
  CHECK(q.size() == 744);  // the operation holds one
  loop.end();
  CHECK(q.size() == 745);
  CHECK(q.try_pop() == 255);
  CHECK(is_cancelled(group));
}

TEST_CASE("queue and scheduler: items pass on to a live task") {
  // Both tasks wait for one queue. The first task has received the item when its context ends.
  queue q(4);
  task_group group;
  int received = 0;
  asio_loop living;
  asio_loop dying;
  const auto pop_one = [](queue& in, int& out) -> task<> {
    const auto i = co_await in.pop();
    out = i ? **i : 0;
  };
  int lost = 0;
  task_group doomed;
  doomed.spawn_on(dying.get_scheduler(), pop_one(q, lost));
  dying.run_ready();
  group.spawn_on(living.get_scheduler(), pop_one(q, received));
  living.run_ready();
  REQUIRE(q.try_push(item(7)));
  dying.end();
  living.run_ready();
  CHECK(received == 7);
  CHECK(lost == 0);
  leat::block_on(group.join());
  CHECK(is_cancelled(doomed));
}

TEST_CASE("queue and scheduler: a coordinator receives the error and stops its other tasks") {
  queue q(4);
  leat::coordinator coord;
  asio_loop living;
  asio_loop dying;
  const auto pop_one = [](queue& in) -> task<> { static_cast<void>(co_await in.pop()); };
  coord.spawn_on(living.get_scheduler(), pop_one(q));
  coord.spawn_on(dying.get_scheduler(), pop_one(q));
  living.run_ready();
  dying.run_ready();
  dying.end();
  living.run_ready();
  CHECK(coord.stop_requested());
  CHECK_THROWS_AS(leat::block_on(coord.join()), leat::failure);
}

TEST_CASE("queue and scheduler: a coordinator in a task names its tasks on another one") {
  const std::string said = leat_test::abort_message([] {
    leat::fifo_queue<int> q(1);
    leat::runtime others({.threads = 1});
    task_group outer;
    std::optional<asio::io_context> io(std::in_place);
    outer.spawn_on(leat::get_scheduler(*io), [&]() -> task<> {
      co_await leat::with_coordinator(
          [&](leat::coordinator& coord) -> task<> {
            coord.spawn_on(others.get_scheduler(), [&]() -> task<> { co_await q.pop(); }, "taker");
            co_return;
          },
          "inner");
    });
    io->poll();
    while (q.statistics().waiting_pops == 0) std::this_thread::yield();
    io.reset();
  });
  INFO(said);
  CHECK(contains(said, "coordinator 'inner' destroyed"));
  CHECK(contains(said, "taker: pop from queue"));
}

TEST_CASE("queue and context: a queue that is destroyed too early names the handler") {
  const std::string said = leat_test::abort_message([] {
    asio::io_context io;
    leat::fifo_queue<int> q(1, "numbers");
    q.async_pop(asio::bind_executor(io.get_executor(), [](std::error_code, std::optional<int>) {}));
  });
  INFO(said);
  CHECK(contains(said, "queue 'numbers' destroyed"));
  CHECK(contains(said, "\n  pop of an Asio handler, at scheduler_end_queues_test.cpp:"));
}

TEST_CASE("queue and context: threads push and pop while contexts with waiters are destroyed") {
  constexpr int rounds = 150;
  constexpr int waiters = 8;
  for (int round = 0; round < rounds; ++round) {
    leat::fifo_queue<int> q(1000);
    task_group group;
    std::atomic<int> received{0};
    auto io = std::make_unique<asio::io_context>(1);
    auto embedded = std::make_unique<leat::embedded_scheduler>();
    const auto pop_one = [](leat::fifo_queue<int>& in, std::atomic<int>& count) -> task<> {
      const auto got = co_await in.pop();
      count += got ? 1 : 0;
    };
    const auto select_one = [](leat::fifo_queue<int>& in, std::atomic<int>& count) -> task<> {
      const auto done = co_await leat::select(in.pop(), leat::sleep_for(1h));
      count += done.index() == 0 ? 1 : 0;
    };
    for (int i = 0; i < waiters; ++i) {
      group.spawn_on(leat::get_scheduler(*io), pop_one(q, received));
      group.spawn_on(leat::get_scheduler(*io), select_one(q, received));
      group.spawn_on(*embedded, pop_one(q, received));
      q.async_pop(asio::bind_executor(*io, [&](std::error_code ec, auto) {
        if (!ec) ++received;
      }));
    }
    io->poll();
    while (embedded->run_ready().more) {
    }
    int pushed = 0;
    std::atomic<bool> go{false};
    std::thread pusher([&] {
      while (!go) {
      }
      for (; pushed < 3 * waiters; ++pushed) leat::block_on(q.push(pushed));
    });
    go = true;
    if (round % 2 == 0) {
      embedded.reset();
      io.reset();
    } else {
      io.reset();
      embedded.reset();
    }
    pusher.join();
    std::vector<int> left;
    while (auto n = q.try_pop()) left.push_back(*n);
    CHECK(received == 0);
    CHECK(left.size() == 3 * waiters);
    std::vector<bool> seen(3 * waiters);
    for (const int n : left) {
      CHECK_FALSE(seen[static_cast<std::size_t>(n)]);
      seen[static_cast<std::size_t>(n)] = true;
    }
    CHECK(group.live_tasks() == 0);
  }
}

}  // namespace scheduler_end_queues_test
