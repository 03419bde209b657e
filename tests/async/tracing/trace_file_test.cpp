#include "leat/async/tracing/trace_file.hpp"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <thread>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>

#include "support/child_process.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace trace_file_test {

using events = std::vector<nlohmann::json>;

constinit leat::task_local<int> request("request");
constinit leat::task_local<int> named_at("at");
constinit leat::task_local<int> named_spawned("spawned");

events read_trace(const std::string& path) {
  const auto all = nlohmann::json::parse(temp_dir::read(path));
  return {all.begin(), all.end()};
}

events select(const events& all, std::string_view phase, std::string_view name) {
  events found;
  for (const auto& e : all) {
    if (e["ph"] == phase && e["name"] == name) found.push_back(e);
  }
  return found;
}

task<> nap() { co_await leat::sleep_for(5ms); }

// Returns the events of a task that is traced from its start to its end.
task<events> trace_of(task<> t, std::string_view name = "") {
  const temp_dir dir;
  leat::trace_file trace(dir / "trace.json");
  task_group group;
  group.spawn(std::move(t), name);
  co_await group.join();
  trace.close();
  co_return read_trace(dir / "trace.json");
}

LEAT_TEST("trace_file: shows the life, the waits and the runs of a task on virtual time") {
  const events all = co_await trace_of(nap(), "napper");
  const events lives = select(all, "b", "napper");
  REQUIRE(lives.size() == 1);
  const events sleeps = select(all, "b", "sleep");
  REQUIRE(sleeps.size() == 1);
  CHECK(sleeps[0]["id"] == lives[0]["id"]);
  CHECK(sleeps[0]["args"]["at"].get<std::string>().starts_with("trace_file_test.cpp:"));
  const events wakes = select(all, "e", "sleep");
  REQUIRE(wakes.size() == 1);
  CHECK(wakes[0]["ts"].get<double>() - sleeps[0]["ts"].get<double>() == 5000);
  CHECK(select(all, "X", "napper").size() == 2);
  CHECK(select(all, "e", "napper").size() == 1);
  CHECK(all.back()["name"] == "trace_end");
  CHECK(all.back()["args"]["lost_events"] == 0);
}

LEAT_TEST("trace_file: a wait shows the values of named task-locals") {
  const events sleeps = select(co_await trace_of(request.with(42, nap())), "b", "sleep");
  REQUIRE(sleeps.size() == 1);
  CHECK(sleeps[0]["args"]["local.request"] == "42");
}

LEAT_TEST("trace_file: a task-local named like an argument does not replace it") {
  const events all = co_await trace_of(named_at.with(1, named_spawned.with(2, nap())));
  const events sleeps = select(all, "b", "sleep");
  REQUIRE(sleeps.size() == 1);
  CHECK(sleeps[0]["args"]["at"].get<std::string>().starts_with("trace_file_test.cpp:"));
  CHECK_FALSE(sleeps[0]["args"].contains("spawned"));  // only the start of a task has it
  CHECK(sleeps[0]["args"]["local.at"] == "1");
  CHECK(sleeps[0]["args"]["local.spawned"] == "2");
}

task<> compute_between_waits() {
  co_await leat::this_task::yield();
  const auto until = std::chrono::steady_clock::now() + 20ms;
  while (std::chrono::steady_clock::now() < until) {
  }
  co_await leat::sleep_for(1ms);
}

TEST_CASE("trace_file: a long run names the places between which the task ran") {
  const temp_dir dir;
  {
    leat::trace_file trace(dir / "trace.json");
    leat::runtime pool;
    task_group group;
    group.spawn_on(pool.next_scheduler(), compute_between_waits(), "busy");
    leat::block_on(group.join());
  }
  const events runs = select(read_trace(dir / "trace.json"), "X", "busy");
  REQUIRE(runs.size() == 3);
  CHECK(runs[1]["dur"].get<double>() >= 20'000);
  CHECK(runs[1]["args"]["from"].get<std::string>().ends_with("compute_between_waits"));
  CHECK(runs[1]["args"]["until"].get<std::string>().ends_with("compute_between_waits"));
  CHECK(runs[1]["args"]["from"] != runs[1]["args"]["until"]);
}

LEAT_TEST("trace_file: a turn with several runs is shown") {
  const temp_dir dir;
  leat::trace_file trace(dir / "trace.json");
  task_group group;
  for (int i = 0; i < 3; ++i) group.spawn(nap());
  co_await group.join();
  trace.close();
  const events turns = select(read_trace(dir / "trace.json"), "X", "turn");
  REQUIRE_FALSE(turns.empty());
  CHECK(turns[0]["args"]["runs"] >= 2);
}

TEST_CASE("trace_file: schedulers on several threads have tracks of their own") {
  const temp_dir dir;
  leat::runtime pool({.threads = 3});
  {
    leat::trace_file trace(dir / "trace.json");
    task_group group;
    for (int i = 0; i < 300; ++i) group.spawn_on(pool.next_scheduler(), nap(), "napper");
    leat::block_on(group.join());
  }
  std::map<int, int> runs;
  for (const auto& e : select(read_trace(dir / "trace.json"), "X", "napper")) ++runs[e["tid"]];
  REQUIRE(runs.size() == 3);
  for (const auto& [scheduler, count] : runs) CHECK(count == 200);
}

LEAT_TEST("trace_file: names with quotes, control characters and broken UTF-8 are escaped") {
  const temp_dir dir;
  leat::trace_file trace(dir / "trace.json");
  task_group group;
  group.spawn(nap(), "a \"b\"\n\\c");
  group.spawn(nap(), "\xE9");
  co_await group.join();
  trace.close();
  const events all = read_trace(dir / "trace.json");
  CHECK(select(all, "b", "a \"b\"\n\\c").size() == 1);
  CHECK(select(all, "b", "\\xE9").size() == 1);
}

LEAT_TEST("trace_file: tasks that had started before the trace appear in it") {
  const temp_dir dir;
  task_group group;
  group.spawn(nap(), "early");
  co_await leat::this_task::yield();
  leat::trace_file trace(dir / "trace.json");
  co_await group.join();
  trace.close();
  const events all = read_trace(dir / "trace.json");
  CHECK(select(all, "b", "early").size() == 1);
  CHECK(select(all, "X", "early").size() == 1);
  CHECK(select(all, "e", "early").size() == 1);
}

LEAT_TEST("trace_file: nothing is recorded after close()") {
  const temp_dir dir;
  leat::trace_file trace(dir / "trace.json");
  trace.close();
  const std::string before = temp_dir::read(dir / "trace.json");
  co_await nap();
  trace.close();
  CHECK(temp_dir::read(dir / "trace.json") == before);
  CHECK(read_trace(dir / "trace.json").size() == 2);
}

bool has_open(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the descriptor of the iterator
    if (std::filesystem::read_symlink(entry.path(), gone) == path) return true;
  }
  return false;
}

TEST_CASE("trace_file: close() closes the file although a scheduler sleeps") {
  const temp_dir dir;
  const std::string path = std::filesystem::canonical(dir.write("trace.json", ""));
  leat::runtime pool;
  leat::trace_file trace(path);
  task_group group;
  group.spawn_on(pool.next_scheduler(), nap());
  leat::block_on(group.join());
  CHECK(has_open(path));
  trace.close();
  CHECK_FALSE(has_open(path));
}

task<> yield_often(int times) {
  for (int i = 0; i < times; ++i) co_await leat::this_task::yield();
}

TEST_CASE("trace_file: the file stays below max_bytes and says that it has reached it") {
  const temp_dir dir;
  {
    leat::trace_file trace(dir / "trace.json", {.max_bytes = std::uint64_t{1} << 20});
    leat::block_on(yield_often(20'000));
  }
  const std::string text = temp_dir::read(dir / "trace.json");
  CHECK(text.size() <= std::size_t{1} << 20);
  CHECK(text.size() > std::size_t{9} << 16);
  const events all = read_trace(dir / "trace.json");
  CHECK(all.back()["args"]["reached_max_bytes"] == 1);
}

TEST_CASE("trace_file: a full disk does not stop the tasks, and close() names file and offset") {
  leat::trace_file trace("/dev/full");
  leat::block_on(yield_often(20'000));
  const std::string message = error_of([&] { trace.close(); });
  CHECK_THAT(message, Catch::Contains("cannot write '/dev/full' at offset 0"));
  CHECK_THAT(message, Catch::Contains("No space left on device"));
}

TEST_CASE("trace_file: a file that cannot be created is an error with its name") {
  const temp_dir dir;
  const std::string message = error_of([&] { leat::trace_file trace(dir / "missing/trace.json"); });
  CHECK_THAT(message, Catch::Contains("missing/trace.json': No such file or directory"));
}

TEST_CASE("trace_file: options out of range are rejected before the file is touched") {
  const temp_dir dir;
  const std::string path = dir.write("trace.json", "kept");
  CHECK_THAT(error_of([&] { leat::trace_file trace(path, {.max_bytes = 1000}); }),
             Catch::Contains("max_bytes is 1000"));
  CHECK_THAT(error_of([&] { leat::trace_file trace(path, {.queue_interval = -1ms}); }),
             Catch::Contains("queue_interval is negative"));
  CHECK(temp_dir::read(path) == "kept");
}

TEST_CASE("trace_file: two traces at the same time both record") {
  const temp_dir dir;
  {
    leat::trace_file first(dir / "first.json");
    leat::trace_file second(dir / "second.json");
    leat::block_on(nap());
  }
  CHECK(select(read_trace(dir / "first.json"), "b", "sleep").size() == 1);
  CHECK(select(read_trace(dir / "second.json"), "b", "sleep").size() == 1);
}

TEST_CASE("trace_file: the file of a process that is killed lacks only its end") {
  const temp_dir dir;
  const std::string path = dir / "trace.json";
  static_cast<void>(leat_test::fork_and_read({SIGKILL}, [&](int) {
    leat::trace_file trace(path);
    leat::block_on(nap());
    std::this_thread::sleep_for(600ms);
    ::raise(SIGKILL);
    return 0;
  }));
  std::string text = temp_dir::read(path);
  REQUIRE(text.ends_with(",\n"));
  text.replace(text.size() - 2, 2, "]");
  CHECK(nlohmann::json::parse(text).size() > 3);
}

TEST_CASE("trace_file: a child of fork() records nothing, and the file of the parent is whole") {
  const temp_dir dir;
  {
    leat::trace_file trace(dir / "trace.json");
    leat::block_on(nap());
    const auto end = leat_test::fork_and_read({}, [&](int) {
      leat::block_on(nap());
      trace.close();
      return 5;
    });
    CHECK(WEXITSTATUS(end.status) == 5);
    leat::block_on(nap());
  }
  CHECK(select(read_trace(dir / "trace.json"), "b", "sleep").size() == 2);
}

}  // namespace trace_file_test

#endif
