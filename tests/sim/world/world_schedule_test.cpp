// The report of a world on its steps.

#include "leat/sim/world/world.hpp"

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/io/file/file.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace world_schedule_test {

using namespace std::chrono_literals;
using leat::task;
using leat::sim::world;

TEST_CASE("world: the schedule contains each step", "[sim]") {
  world w(1);
  w.files().write_file("/a", "text");
  w.trace();
  w.run([](world&) -> task<> {
    leat::task_group group;
    group.spawn(
        []() -> task<> {
          const auto f = co_await leat::file::open("/a", leat::open_mode::write);
          co_await leat::sleep_for(1s);
          co_await leat::this_task::yield();
        }(),
        "reader");
    co_await group.join();
  });
  std::string all;
  for (const std::string& line : w.schedule()) all += line + "\n";
  INFO(all);
  CHECK(all.find("thread 0: reader begins") != std::string::npos);
  CHECK(all.find("files: open '/a'") != std::string::npos);
  CHECK(all.find("reader resumes after sleep") != std::string::npos);
  CHECK(all.find("reader resumes after yield, at world_schedule_test.cpp:") != std::string::npos);
}

TEST_CASE("world: a trace can begin within an item that is then pre-empted", "[sim]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world w(seed, {.threads = 2, .preemption = 1});
    w.run([](world& here) -> task<> {
      here.trace();
      leat::fifo_queue<int> q(8, "q");
      for (int i = 0; i < 4; ++i) {
        static_cast<void>(q.try_push(1));
        static_cast<void>(q.try_pop());
      }
      co_await leat::this_task::yield();
      q.close();
    });
    REQUIRE_FALSE(w.schedule().empty());
  }
}

TEST_CASE("world: the schedule has times to the nanosecond, however late", "[sim]") {
  world w(1);
  w.trace();
  w.run([](world&) -> task<> {
    co_await leat::sleep_for(10us);
    co_await leat::sleep_for(400 * 24h + 1ns);
  });
  REQUIRE(w.schedule().size() == 3);
  CHECK_THAT(w.schedule()[1], Catch::StartsWith("step 2, 0.01 ms, "));
  CHECK_THAT(w.schedule()[2], Catch::StartsWith("step 3, 34560000000.010001 ms, "));
}

TEST_CASE("world: keeps both ends of a long schedule", "[sim]") {
  world w(1);
  w.trace({.ends = 10});
  w.run([](world&) -> task<> {
    for (int i = 1; i < 1000; ++i) co_await leat::this_task::yield();
  });
  const std::vector<std::string>& lines = w.schedule();
  REQUIRE(lines.size() >= 21);
  REQUIRE(lines.size() <= 31);
  CHECK_THAT(lines.front(), Catch::StartsWith("step 1, "));
  CHECK_THAT(lines[9], Catch::StartsWith("step 10, "));
  CHECK(lines[10] == "(" + std::to_string(1000 - (lines.size() - 1)) + " lines left out)");
  CHECK_THAT(lines.back(), Catch::StartsWith("step 1000, "));
}

}  // namespace world_schedule_test
