#include "leat/async/dump/dump.hpp"

#include <iostream>
#include <regex>
#include <sstream>

#include <asio/io_context.hpp>

#include "async/manual_event.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"
#include "support/nonblocking_stderr.hpp"

namespace dump_test {
using leat_test::dump;
using leat_test::manual_event;

bool matches(const std::string& text, const char* pattern) {
  return std::regex_search(text, std::regex(pattern));
}

task<void> read_file(manual_event& event) { co_await event.wait(); }
task<void> run_reader(manual_event& event) { co_await read_file(event); }
task<void> sleep_a_minute() { co_await leat::sleep_for(1min); }

LEAT_TEST("dump: prints name, verb, object, location, duration and await chain of a wait") {
  manual_event event("data");
  task_group group("readers");
  group.spawn(run_reader(event), "reader 0");
  co_await leat::sleep_for(3204ms);
  const std::string text = dump();
  event.set();
  co_await group.join();
  INFO(text);
  CHECK(contains(text, "task group 'readers', 1 task\n"));
  CHECK(matches(
      text, R"(  reader 0: wait for event 'data', at dump_test\.cpp:\d+ in dump_test::read_file, )"
            R"(for 3\.204 s\n +awaited at dump_test\.cpp:\d+ in dump_test::run_reader\n)"));
}

LEAT_TEST("dump: names a task without a name by the location of its spawn") {
  manual_event event;
  task_group group;
  group.spawn(read_file(event));
  const std::string line = std::to_string(std::source_location::current().line() - 1);
  co_await leat::this_task::yield();
  const std::string text = dump();
  event.set();
  co_await group.join();
  INFO(text);
  CHECK(contains(text, "task spawned at dump_test.cpp:" + line));
}

LEAT_TEST("dump: reports a task that does not wait as running or ready") {
  const std::string text = dump();
  INFO(text);
  CHECK(contains(text, "running or ready to run"));
  co_return;
}

LEAT_TEST("dump: prints the remaining time of a sleep") {
  task_group group;
  group.spawn(sleep_a_minute(), "sleeper");
  co_await leat::sleep_for(20s);
  const std::string text = dump();
  group.request_stop();
  co_await group.join();
  INFO(text);
  CHECK(matches(text, "sleeper: sleep for another 40000 ms, .*, for 20\\.000 s"));
}

LEAT_TEST("dump: prints a wait without details as one word") {
  task_group group;
  group.spawn([]() -> task<void> { co_await leat::this_task::yield(); }(), "polite");
  co_await leat::this_task::yield();
  const std::string text = dump();
  co_await group.join();
  INFO(text);
  CHECK(matches(text, "polite: yield, at dump_test\\.cpp:"));
}

LEAT_TEST("dump: a join names its scope and prints the location once") {
  manual_event event;
  task_group inner("inner"), outer;
  inner.spawn(read_file(event));
  outer.spawn([](task_group& g) -> task<void> { co_await g.join(); }(inner), "joiner");
  co_await leat::this_task::yield();
  const std::string text = dump();
  event.set();
  co_await outer.join();
  INFO(text);
  CHECK(matches(text, "joiner: join task group 'inner', 1 task.*, at dump_test.cpp"));
  CHECK_FALSE(matches(text, "joiner: [^\n]*\n *awaited"));
}

LEAT_TEST("dump: lists a group below the task that created it") {
  manual_event event;
  task_group outer("outer");
  outer.spawn(
      [](manual_event& e) -> task<void> {
        task_group inner("inner");
        inner.spawn(read_file(e), "leaf");
        co_await inner.join();
      }(event),
      "maker");
  co_await leat::this_task::yield();
  const std::string text = dump();
  event.set();
  co_await outer.join();
  INFO(text);
  CHECK(matches(text,
                "    task group 'outer', 1 task\n      maker: .*\n(        .*\n)*?"
                "        task group 'inner', 1 task\n          leaf: "));
}

LEAT_TEST("dump: reports a stop request") {
  task_group group("ending");
  group.spawn(sleep_a_minute());
  group.request_stop();
  const std::string text = dump();
  co_await group.join();
  CHECK(contains(text, "task group 'ending', 1 task, stop requested"));
}

LEAT_TEST("dump: omits tasks that have ended") {
  {
    manual_event event;
    task_group group("finished");
    group.spawn(read_file(event));
    event.set();
    co_await group.join();
  }
  CHECK_FALSE(contains(dump(), "finished"));
}

LEAT_TEST("dump: omits the coroutines of the library") {
  const std::string text = dump();
  CHECK_FALSE(contains(text, "store_result"));
  CHECK_FALSE(contains(text, "task.hpp"));
  co_return;
}

LEAT_TEST("dump: a spawned callable has no await location") {
  manual_event event;
  task_group group;
  group.spawn([&]() -> task<void> { co_await event.wait(); });
  co_await leat::this_task::yield();
  const std::string text = dump();
  event.set();
  co_await group.join();
  INFO(text);
  CHECK(contains(text, "wait for event"));
  CHECK_FALSE(contains(text, "awaited at"));
}

TEST_CASE("dump: works on a thread without a scheduler") {
  leat::runtime rt({.threads = 2});
  task_group group("everywhere");
  for (std::size_t i = 0; i < 2; ++i) {
    group.spawn_on(
        rt.get_scheduler(i), []() -> task<void> { co_await leat::sleep_for(1h); }(),
        "sleeper " + std::to_string(i));
  }
  std::string text;
  do {  // until both tasks sleep
    text = dump();
  } while (!matches(text, "sleeper 0: sleep") || !matches(text, "sleeper 1: sleep"));
  group.request_stop();
  leat::block_on(group.join());
  CHECK(contains(text, "task group 'everywhere', 2 tasks"));
}

TEST_CASE("dump: a task and another thread can dump at the same time") {
  leat::runtime rt({.threads = 2});
  const auto dump_often = []() -> task<void> {
    for (int i = 0; i < 20; ++i) {
      std::ostringstream out;
      leat::dump(out, 1ms);
      co_await leat::this_task::yield();
    }
  };
  task_group group;
  group.spawn_on(rt.get_scheduler(0), dump_often());
  group.spawn_on(rt.get_scheduler(1), dump_often());
  leat::block_on(group.join());
  CHECK(group.live_tasks() == 0);
}

TEST_CASE("dump: reports a scheduler that is not running without waiting for it") {
  asio::io_context io;
  task_group group("asleep");
  group.spawn_on(leat::get_scheduler(io), []() -> task<void> { co_return; }(), "waiter");
  std::ostringstream out;
  leat::dump(out, 1ms);
  INFO(out.str());
  CHECK(contains(out.str(), "waiter: not known: its scheduler does not answer"));
  io.run();  // the query is too late and is discarded
  leat::block_on(group.join());
}

TEST_CASE("dump: tolerates a scheduler that answers after its scope was destroyed") {
  asio::io_context io;
  {
    task_group group;
    group.spawn_on(leat::get_scheduler(io), []() -> task<void> { co_return; }());
    std::ostringstream out;
    leat::dump(out, 1ms);
    while (group.live_tasks() > 0) io.run_one();
  }
  io.run();
  std::ostringstream out;
  leat::dump(out, 1ms);
  CHECK_FALSE(contains(out.str(), "task group"));
}

LEAT_TEST("dump: std::cerr receives all of it if standard error is a full nonblocking pipe") {
  manual_event event("data");
  task_group group("readers");
  for (int i = 0; i < 2000; ++i) group.spawn(read_file(event), "reader " + std::to_string(i));
  co_await leat::this_task::yield();
  const std::string text = leat_test::text_of_nonblocking_stderr([] {
    leat::dump(std::cerr);
    std::cerr << "the end\n";
  });
  event.set();
  co_await group.join();
  CHECK(text.size() > 100'000);
  CHECK(contains(text, "  reader 1999: wait for event 'data'"));
  CHECK(text.ends_with("the end\n"));
}

TEST_CASE("to_text: prints a location as file, line and plain function name") {
  const std::string text = leat::detail::to_text(std::source_location::current());
  CHECK(matches(text, "^dump_test\\.cpp:\\d+ in [\\w:]+$"));
}

}  // namespace dump_test
