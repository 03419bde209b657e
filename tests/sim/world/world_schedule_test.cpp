// The report of a world on its steps.

#include "leat/sim/world/world.hpp"

#include <algorithm>
#include <stop_token>

#include "leat/io/file/file.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace world_schedule_test {

using leat::sim::world;

TEST_CASE("world: the schedule contains each step") {
  world w(1);
  w.files().write_file("/a", "text");
  w.trace();
  w.run([](world&) -> task<> {
    task_group group;
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
  CHECK(contains(all, "thread 0: reader begins"));
  CHECK(contains(all, "files: open '/a'"));
  CHECK(contains(all, "timer of reader expires, at world_schedule_test.cpp:"));
  CHECK(contains(all, "reader resumes after sleep of 1000 ms, at world_schedule_test.cpp:"));
  CHECK(contains(all, "reader resumes after yield, at world_schedule_test.cpp:"));
}

TEST_CASE("world: a trace can begin within an item that is then pre-empted") {
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

TEST_CASE("world: the schedule has times to the nanosecond, however late") {
  world w(1);
  w.trace();
  w.run([](world&) -> task<> {
    co_await leat::sleep_for(10us);
    co_await leat::sleep_for(400 * 24h + 1ns);
  });
  REQUIRE(w.schedule().size() == 5);  // a line for each timer, and one for its sleep
  CHECK_THAT(w.schedule()[2],
             Catch::StartsWith("step 3, 0.01 ms, ") && Catch::Contains("sleep of 0.01 ms, at "));
  CHECK_THAT(w.schedule()[4], Catch::StartsWith("step 5, 34560000000.010001 ms, ") &&
                                  Catch::Contains("sleep of 34560000000.000001 ms, at "));
}

TEST_CASE("world: keeps both ends of a long schedule") {
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

// ---- What explains a failure.

// Runs a program with the default schedule, and returns its lines without their steps and times.
std::vector<std::string> lines_of(const world::body& b) {
  world w(std::vector<std::uint32_t>(), 1);
  w.trace();
  w.run(b);
  std::vector<std::string> lines;
  for (const std::string& line : w.schedule()) {
    lines.push_back(line.substr(line.find("ms, ") + 4));
  }
  return lines;
}

using Catch::Matchers::VectorContains;

std::size_t count_of(const std::vector<std::string>& lines, const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      lines, [&](const std::string& line) { return line.find(text) != line.npos; }));
}

TEST_CASE("world: the schedule contains signals, decisions of the program, jumps and notes") {
  const auto lines = lines_of([](world& w) -> task<> {
    task_group group("accepting");
    const leat::stop_on_signal guard(group, {SIGTERM});
    CHECK_FALSE(w.raise(SIGHUP));
    CHECK(w.raise(SIGTERM));
    CHECK_FALSE(w.decisions().chance(0.5, "segment lost?"));
    CHECK(w.decisions().choose(7, "latency") == 0);
    w.jump_wall_clock(-1500us);
    w.note("request 3 is sent again");
    co_await group.join();
  });
  INFO(Catch::StringMaker<std::vector<std::string>>::convert(lines));
  CHECK_THAT(lines, VectorContains(std::string("signal: SIGHUP, received by no guard")));
  CHECK_THAT(lines, VectorContains(std::string("signal: SIGTERM")));
  CHECK_THAT(lines, VectorContains(std::string("decision: 'segment lost?': 0 of 0 to 1")));
  CHECK_THAT(lines, VectorContains(std::string("decision: 'latency': 0 of 0 to 6")));
  CHECK_THAT(lines, VectorContains(std::string("wall clock: set by -1.5 ms")));
  CHECK_THAT(lines, VectorContains(std::string("note: request 3 is sent again")));
}

TEST_CASE("world: a fact of a step that follows a note has a line of its own") {
  std::size_t own_lines = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world w(seed, {.threads = 2, .preemption = 1});
    w.trace();
    w.run([](world& here) -> task<> {
      leat::fifo_queue<int> q(8, "q");
      here.note("begins");
      for (int i = 0; i < 8; ++i) static_cast<void>(q.try_push(1));
      co_await leat::this_task::yield();
    });
    for (const std::string& line : w.schedule()) {
      if (line.find("note: ") != line.npos) CHECK_THAT(line, Catch::EndsWith("note: begins"));
      if (line.find("thread 0: ..., pre-empted at a lock") != line.npos) ++own_lines;
    }
  }
  CHECK(own_lines > 10);
}

TEST_CASE("world: the decisions of a program are those of its world") {
  world w(5);
  w.run([](world& here) -> task<> {
    const std::uint32_t chosen = here.decisions().choose(1000, "number");
    CHECK(here.decisions().made().back().chosen == chosen);
    CHECK(here.decisions().made().back().step == here.steps());
    co_return;
  });
}

TEST_CASE("world: the schedule names the task that set a limit") {
  const auto lines = lines_of([](world&) -> task<> {
    const auto work = []() -> task<> { co_await leat::sleep_for(1ms); };
    const auto client = [](auto job) -> task<> { co_await leat::with_timeout(job(), 1s); };
    task_group group;
    for (int i = 1; i <= 2; ++i) group.spawn(client(work), "client " + std::to_string(i));
    co_await group.join();
  });
  INFO(Catch::StringMaker<std::vector<std::string>>::convert(lines));
  for (const char* const name : {"client 1", "client 2"}) {
    const std::string task = std::string(name) + " (task spawned at world_schedule_test.cpp:";
    CHECK(count_of(lines, task) == 3);  // it begins, its timer expires, it resumes
    CHECK(count_of(lines, std::string(name) + " resumes after limit on a task, completed, at "
                                              "world_schedule_test.cpp:") == 1);
  }
}

TEST_CASE("world: the schedule shows once that a task resumes after its limit") {
  const auto lines = lines_of([](world&) -> task<> {
    const auto work = []() -> task<> { co_await leat::sleep_for(1h); };
    co_await leat::as_tuple(leat::with_timeout(work(), 10ms));
    std::stop_source source;
    task_group group;
    group.spawn([](std::stop_source s) -> task<> {
      co_await leat::sleep_for(10ms);
      s.request_stop();
    }(source));
    co_await leat::as_tuple(leat::with_stop(work(), source.get_token()));
    co_await group.join();
  });
  INFO(Catch::StringMaker<std::vector<std::string>>::convert(lines));
  CHECK(count_of(lines, "body resumes after limit on a task, expired, at ") == 1);
  CHECK(count_of(lines, "body resumes after limit on a task, stopped, at ") == 1);
  CHECK(count_of(lines, "body asks the operation that lost to end: limit on a task, stopped") == 1);
  CHECK(count_of(lines, "resumes after sleep of 3600000 ms, stopped 3599990 ms early, at ") == 2);
}

TEST_CASE("world: the schedule shows the operation that completed a select") {
  const auto lines = lines_of([](world&) -> task<> {
    leat::fifo_queue<int> q(2, "q");
    co_await leat::select(q.pop(), leat::sleep_for(10ms));
    co_await leat::as_tuple(leat::with_timeout(q.pop(), 10ms));
  });
  INFO(Catch::StringMaker<std::vector<std::string>>::convert(lines));
  CHECK(count_of(lines,
                 "body resumes after select pop from queue 'q' (0 of 2), or a timer "
                 "(completed), at ") == 1);
  CHECK(count_of(lines, "body resumes after limit on pop from queue 'q' (0 of 2), expired, at ") ==
        1);
}

}  // namespace world_schedule_test
