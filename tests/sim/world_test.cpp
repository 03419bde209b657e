#include "leat/sim/world.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/core/error.hpp"
#include "leat/core/sleep.hpp"
#include "leat/core/task_group.hpp"
#include "leat/core/this_task.hpp"
#include "leat/io/file.hpp"
#include "leat/sync/fifo_queue.hpp"

namespace {

using namespace std::chrono_literals;
using leat::task;
using leat::sim::world;

task<> note(std::vector<int>& order, int value) {
  order.push_back(value);
  co_return;
}

// Three tasks of three steps each, on the world's threads; the order in which they came.
std::vector<int> order_of(std::uint64_t seed, std::size_t threads,
                          std::vector<std::string>* lines) {
  std::vector<int> order;
  world w(seed, {.threads = threads});
  if (lines) w.trace();
  w.run([&order](world& here) -> task<> {
    leat::task_group group;
    const auto steps = [](std::vector<int>& out, int value) -> task<> {
      for (int i = 0; i < 3; ++i) {
        out.push_back(value);
        co_await leat::this_task::yield();
        co_await leat::sleep_for(1ms);
      }
    };
    for (int i = 0; i < 3; ++i) {
      group.spawn_on(here.thread(static_cast<std::size_t>(i) % here.threads()), steps(order, i));
    }
    co_await group.join();
  });
  if (lines) *lines = w.schedule();
  return order;
}

TEST_CASE("world: the same seed gives the same run, another one another", "[sim]") {
  for (const std::size_t threads : {std::size_t{1}, std::size_t{3}}) {
    std::vector<std::string> first_lines;
    std::vector<std::string> again_lines;
    const std::vector<int> first = order_of(1, threads, &first_lines);
    CHECK(first.size() == 9);
    CHECK(order_of(1, threads, &again_lines) == first);
    CHECK(first_lines == again_lines);
    std::size_t different = 0;
    for (std::uint64_t seed = 2; seed < 30; ++seed) {
      if (order_of(seed, threads, nullptr) != first) ++different;
    }
    CHECK(different > 20);
  }
}

TEST_CASE("world: a run can be made again of its choices", "[sim]") {
  const auto program = [](std::vector<int>& order) {
    return [&order](world&) -> task<> {
      leat::task_group group;
      for (int i = 0; i < 6; ++i) group.spawn(note(order, i));
      co_await group.join();
    };
  };
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<int> first;
    world w(seed);
    w.run(program(first));
    std::vector<std::uint32_t> script;
    for (const auto& c : w.decisions().made()) script.push_back(c.chosen);
    std::vector<int> again;
    world(script, seed).run(program(again));
    CHECK(again == first);
    std::vector<int> plain;
    world(std::vector<std::uint32_t>(), seed).run(program(plain));
    CHECK(plain == std::vector{0, 1, 2, 3, 4, 5});
  }
}

TEST_CASE("world: time jumps, and only when nothing can run", "[sim]") {
  world w(3, {.threads = 2});
  w.run([](world& here) -> task<> {
    const leat::time_point begin = here.now();
    leat::task_group group;
    group.spawn_on(here.thread(1), []() -> task<> { co_await leat::sleep_for(1h); }());
    for (int i = 0; i < 100; ++i) co_await leat::this_task::yield();
    CHECK(here.now() == begin);
    co_await group.join();
    CHECK(here.now() == begin + 1h);
    const auto wall = here.wall_clock();
    here.jump_wall_clock(-1h);
    CHECK(here.wall_clock() == wall - 1h);
    CHECK(here.now() == begin + 1h);
  });
}

TEST_CASE("world: threads share a queue in every order, and nothing is lost", "[sim]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed, {.threads = 3});
    int sum = 0;
    w.run([&sum](world& here) -> task<> {
      leat::fifo_queue<int> q(2, "q");
      here.watch(q);
      leat::task_group producers;
      leat::task_group consumers;
      const auto produce = [](leat::fifo_queue<int>& to) -> task<> {
        for (int i = 1; i <= 10; ++i) co_await to.push(i);
      };
      const auto consume = [](leat::fifo_queue<int>& from, int& total) -> task<> {
        while (const auto item = co_await from.pop()) total += *item;
      };
      producers.spawn_on(here.thread(0), produce(q));
      producers.spawn_on(here.thread(1), produce(q));
      consumers.spawn_on(here.thread(2), consume(q, sum));
      consumers.spawn_on(here.thread(1), consume(q, sum));
      co_await producers.join();
      q.close();
      co_await consumers.join();
      here.unwatch();
    });
    REQUIRE(sum == 110);
  }
}

TEST_CASE("world: a deadlock is told at once, with everyone's place on every thread", "[sim]") {
  world w(1, {.threads = 2});
  std::string what;
  try {
    w.run([](world& here) -> task<> {
      leat::fifo_queue<int> a(1, "a");
      leat::fifo_queue<int> b(1, "b");
      leat::task_group group;
      const auto wait_for = [](leat::fifo_queue<int>& first) -> task<> { co_await first.pop(); };
      group.spawn_on(here.thread(0), wait_for(a), "left");
      group.spawn_on(here.thread(1), wait_for(b), "right");
      co_await group.join();
    });
  } catch (const leat::sim::deadlock& e) {
    what = e.what();
  }
  INFO(what);
  CHECK(what.find("left: pop from queue 'a'") != std::string::npos);
  CHECK(what.find("right: pop from queue 'b'") != std::string::npos);
  w.run([](world&) -> task<> { co_await leat::sleep_for(1s); });  // and it goes on
}

TEST_CASE("world: an invariant that does not hold ends the run with its name", "[sim]") {
  world w(1);
  int value = 0;
  w.always("value is below 3", [&] { return value < 3; });
  CHECK_THROWS_WITH(w.run([&](world&) -> task<> {
    for (; value < 10; ++value) co_await leat::this_task::yield();
  }),
                    Catch::Contains("does not hold: value is below 3"));
  CHECK(w.steps() >= 3);
}

TEST_CASE("world: a run without an end is ended", "[sim]") {
  world w(1, {.max_steps = 1000});
  CHECK_THROWS_AS(w.run([](world&) -> task<> {
    while (!co_await leat::this_task::stop_requested()) {
      co_await leat::this_task::yield();
    }
  }),
                  leat::sim::endless);
}

TEST_CASE("world: what the body throws is thrown", "[sim]") {
  CHECK_THROWS_WITH(leat::sim::run(1,
                                   [](world&) -> task<> {
                                     co_await leat::sleep_for(1s);
                                     throw leat::failure(leat::errc::data_loss, "a.txt");
                                   }),
                    Catch::Contains("a.txt"));
}

TEST_CASE("world: the schedule tells each step", "[sim]") {
  world w(1);
  w.files().write_file("/a", "text");
  w.trace();
  w.run([](world&) -> task<> {
    leat::task_group group;
    group.spawn(
        []() -> task<> {
          const auto f = co_await leat::file::open("/a");
          co_await leat::sleep_for(1s);
        }(),
        "reader");
    co_await group.join();
  });
  std::string all;
  for (const std::string& line : w.schedule()) all += line + "\n";
  INFO(all);
  CHECK(all.find("thread 0: reader begins") != std::string::npos);
  CHECK(all.find("files: open '/a'") != std::string::npos);
  CHECK(all.find("reader goes on after sleep") != std::string::npos);
}

}  // namespace
