#include "leat/async/loop/asio_scheduler.hpp"

#include <atomic>
#include <thread>

#include <asio/io_context.hpp>
#include <asio/post.hpp>

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace asio_scheduler_test {

using leat::get_scheduler;

TEST_CASE("asio_scheduler: get_scheduler() always returns the same scheduler for a context") {
  asio::io_context io;
  asio::io_context other;
  leat::scheduler& s = get_scheduler(io);
  CHECK(&get_scheduler(io) == &s);
  CHECK(&get_scheduler(io, {.max_items_per_turn = 1}) == &s);
  CHECK(&get_scheduler(other) != &s);
}

TEST_CASE("asio_scheduler: get_scheduler() on two threads returns the same scheduler") {
  for (int round = 0; round < 50; ++round) {
    asio::io_context io;
    std::atomic<int> ready{0};
    leat::scheduler* seen[2] = {};
    const auto ask = [&](int i) {
      ++ready;
      while (ready < 2) {
      }
      seen[i] = &get_scheduler(io, {.max_items_per_turn = 7});
    };
    std::thread other(ask, 0);
    ask(1);
    other.join();
    REQUIRE(seen[0] == seen[1]);
  }
}

TEST_CASE("asio_scheduler: returns the context of a scheduler, or null for another type") {
  asio::io_context io;
  CHECK(leat::get_io_context(get_scheduler(io)) == &io);
  leat::sim::virtual_scheduler v;
  CHECK(leat::get_io_context(v) == nullptr);
}

TEST_CASE("asio_scheduler: uses the system clock for the time of day") {
  asio::io_context io;
  const auto before = std::chrono::system_clock::now() - 1h;  // the clock may be set meanwhile
  CHECK(get_scheduler(io).wall_time() > before);
  CHECK(get_scheduler(io).wall_time() < before + 2h);
}

TEST_CASE("asio_scheduler: io_context::run() does not return while a task is alive") {
  asio::io_context io;
  bool done = false;
  task_group group;
  group.spawn_on(get_scheduler(io), [](bool& d) -> task<void> {
    co_await leat::sleep_for(2ms);
    co_await leat::this_task::yield();
    d = true;
  }(done));
  io.run();
  CHECK(done);
  CHECK(group.live_tasks() == 0);
}

TEST_CASE("asio_scheduler: a context can be run again after its tasks have ended") {
  asio::io_context io;
  int runs = 0;
  task_group group;
  for (int i = 1; i <= 3; ++i) {
    group.spawn_on(get_scheduler(io), task_steps::count(runs));
    io.run();
    io.restart();
    CHECK(runs == i);
  }
}

TEST_CASE("asio_scheduler: a task that never waits lets the context's handlers run") {
  asio::io_context io;
  bool handler_ran = false;
  task_group group;
  group.spawn_on(get_scheduler(io), [](bool& ran) -> task<void> {
    while (!ran) co_await leat::this_task::yield();
  }(handler_ran));
  asio::post(io, [&] { handler_ran = true; });
  io.run();
  CHECK(handler_ran);
}

TEST_CASE("asio_scheduler: the context sees one handler for a burst of items") {
  asio::io_context io;
  leat::scheduler& s = get_scheduler(io);
  task_group group;
  const auto nothing = []() -> task<void> { co_return; };
  for (int i = 0; i < 50; ++i) group.spawn_on(s, nothing());
  CHECK(io.run() == 1);
}

TEST_CASE("asio_scheduler: rejects a turn of 0 items") {
  asio::io_context io;
  CHECK_THROWS_WITH(
      get_scheduler(io, {.max_items_per_turn = 0}),
      Catch::StartsWith("asio_scheduler_options::max_items_per_turn is 0: use 1 or more"));
}

TEST_CASE("asio_scheduler: max_items_per_turn limits a turn") {
  asio::io_context io;
  leat::scheduler& s = get_scheduler(io, {.max_items_per_turn = 10});
  task_group group;
  const auto nothing = []() -> task<void> { co_return; };
  for (int i = 0; i < 50; ++i) group.spawn_on(s, nothing());
  CHECK(io.run() >= 5);
}

TEST_CASE("asio_scheduler: if several threads run the context, still one task runs at a time") {
  asio::io_context io;
  std::atomic<bool> inside{false};
  int overlaps = 0;
  int steps = 0;  // not atomic, since the scheduler serializes the tasks
  task_group group;
  const auto worker = [](std::atomic<bool>& in, int& bad, int& n) -> task<void> {
    for (int i = 0; i < 500; ++i) {
      bad += in.exchange(true);
      ++n;
      in = false;
      co_await leat::this_task::yield();
    }
  };
  for (int i = 0; i < 8; ++i) group.spawn_on(get_scheduler(io), worker(inside, overlaps, steps));
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { io.run(); });
  for (std::thread& t : threads) t.join();
  CHECK(overlaps == 0);
  CHECK(steps == 4000);
}

TEST_CASE("asio_scheduler: no timer is lost when several threads run the context") {
  // Regression: a timer that fired on one thread during a turn on the other was never set again.
  asio::io_context io;
  int done = 0;
  task_group group;
  const auto sleeper = [](int& n) -> task<void> {
    for (int i = 0; i < 200; ++i) {
      co_await leat::sleep_for(1us * (i % 7));
      if (i % 3 == 0) co_await leat::this_task::yield();
    }
    ++n;
  };
  for (int i = 0; i < 4; ++i) group.spawn_on(get_scheduler(io), sleeper(done));
  std::thread other([&] { io.run(); });
  io.run();
  other.join();
  CHECK(done == 4);
}

TEST_CASE("asio_scheduler: a context can be destroyed before an unused timer expires") {
  asio::io_context io;
  task_group group;
  group.spawn_on(get_scheduler(io), []() -> task<void> { co_await leat::sleep_for(1h); }());
  io.run_one();
  group.request_stop();
  io.run();
  CHECK(group.live_tasks() == 0);
}

}  // namespace asio_scheduler_test
