#include "leat/async/tracing/warn_on_long_turns.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <regex>
#include <sstream>
#include <thread>

#include "leat/async/dump/dump.hpp"
#include "leat/async/dump/metrics.hpp"
#include "support/child_process.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace warn_on_long_turns_test {

using leat::long_turn;
using leat::warn_on_long_turns;

// Keeps the reports, and lets a task hold its loop until one has arrived. A busy machine may
// interrupt any run for longer than a threshold; only the tasks that hold their loop on purpose
// wait with yield(), and they are not called "innocent".
class reports {
 public:
  [[nodiscard]] leat::long_turn_options options() {
    return {.on_report = [this](const long_turn& turn) { add(turn); }, .reports_per_minute = 1000};
  }
  // Blocks until `count` reports have arrived.
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return all_.size() >= count; });
  }
  [[nodiscard]] std::vector<long_turn> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

  bool keep_repeated = false;  // those of runs that still last

 private:
  void add(const long_turn& turn) {
    if (turn.waited_at.empty() || !turn.waited_at[0].starts_with("yield at")) return;
    if (turn.task == "innocent") return;
    if (turn.was_reported && !turn.has_ended && !keep_repeated) return;
    const std::lock_guard lock(mutex_);
    all_.push_back(turn);
    arrived_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<long_turn> all_;
};

// The highest of the samples of a metric, or -1.
double highest(const std::string& text, const std::string& name) {
  double found = -1;
  for (auto at = text.find("\n" + name + "{"); at != text.npos;
       at = text.find("\n" + name + "{", at + 1)) {
    found = std::max(found, std::stod(text.substr(text.find("} ", at) + 2)));
  }
  return found;
}

task<> yield_once() { co_await leat::this_task::yield(); }

task<> hold_until_reported(reports& seen) {
  co_await leat::this_task::yield();
  seen.wait_for(1);
  co_await leat::this_task::yield();
  seen.wait_for(2);  // if this run is long, its end would replace that of the run before
}
task<> hold_until(std::atomic<bool>& ends) {
  co_await leat::this_task::yield();
  while (!ends) std::this_thread::sleep_for(1ms);
}
task<> await_holder(reports& seen) { co_await hold_until_reported(seen); }

void check_reports(reports& seen) {
  const std::vector<long_turn> all = seen.all();
  REQUIRE(all.size() >= 2);
  CHECK(all[0].task == "guilty");
  CHECK_FALSE(all[0].has_ended);
  CHECK(all[0].until.empty());
  REQUIRE(all[0].waited_at.size() == 2);
  const auto matches = [](const std::string& text, const char* pattern) {
    return std::regex_match(text, std::regex(pattern));
  };
  CHECK(matches(all[0].waited_at[0], R"(yield at warn_on_long_turns_test\.cpp:\d+ in .*hold_.*)"));
  CHECK(matches(all[0].waited_at[1], R"(warn_on_long_turns_test\.cpp:\d+ in .*await_holder)"));
  CHECK(all[0].lasted >= 2ms);
  CHECK(all[1].task == "guilty");
  CHECK(all[1].has_ended);
  CHECK(all[1].lasted >= all[0].lasted);
  CHECK(matches(all[1].until, R"(yield at warn_on_long_turns_test\.cpp:\d+ in .*hold_.*)"));
  // Later ones are of the run after it.
  for (std::size_t i = 2; i < all.size(); ++i) CHECK(all[i].waited_at != all[0].waited_at);
}

LEAT_LOOP_TEST("warn_on_long_turns: reports a task that holds its loop, and its end") {
  TestType loop;
  reports seen;
  const warn_on_long_turns watchdog(2ms, seen.options());
  leat::task_group group;
  group.spawn_on(loop.get_scheduler(), await_holder(seen), "guilty");
  loop.run_ready();
  CHECK(group.live_tasks() == 0);
  check_reports(seen);
}

TEST_CASE("warn_on_long_turns: reports a task of block_on", "[async]") {
  reports seen;
  const warn_on_long_turns watchdog(2ms, seen.options());
  leat::block_on([](reports& r) -> task<> {
    leat::task_group group;
    group.spawn(await_holder(r), "guilty");
    co_await group.join();
  }(seen));
  check_reports(seen);
}

TEST_CASE("warn_on_long_turns: names the guilty task of a runtime, not another one", "[async]") {
  reports seen;
  leat::runtime rt({.threads = 2});
  const warn_on_long_turns watchdog(2ms, seen.options());
  rt.block_on([](reports& r, leat::runtime& runs) -> task<> {
    leat::task_group group;
    for (int i = 0; i < 20; ++i) {
      group.spawn_on(runs.next_scheduler(), yield_once(), "innocent");
    }
    group.spawn_on(runs.get_scheduler(1), await_holder(r), "guilty");
    co_await group.join();
  }(seen, rt));
  check_reports(seen);
}

TEST_CASE("warn_on_long_turns: does not report a loop that is idle or whose task waits",
          "[async]") {
  std::atomic<int> count = 0;
  const warn_on_long_turns watchdog(300ms, {.on_report = [&](const long_turn&) { ++count; }});
  leat::runtime rt({.threads = 2});
  rt.block_on([]() -> task<> { co_await leat::sleep_for(400ms); }());
  CHECK(count == 0);
}

LEAT_TEST("warn_on_long_turns: does not watch simulated schedulers") {
  reports seen;
  const warn_on_long_turns watchdog(1ms, seen.options());
  co_await leat::this_task::yield();
  std::this_thread::sleep_for(20ms);
  co_await leat::this_task::yield();
  CHECK(seen.all().empty());
}

TEST_CASE("warn_on_long_turns: rejects options that are out of range", "[async]") {
  const auto watch = [](leat::time_span threshold, leat::long_turn_options options = {}) {
    const warn_on_long_turns watchdog(threshold, std::move(options));
    return 0;
  };
  CHECK_REFUSED("the threshold is 0 ns: use a positive one, such as 50 ms", watch(0ms));
  CHECK_REFUSED("the threshold is -1 ns: use a positive one", watch(-1ns));
  CHECK_REFUSED("long_turn_options::reports_per_minute is 0: use 1 or more",
                watch(1s, {.reports_per_minute = 0}));
}

task<> hold_for(std::chrono::milliseconds time) {
  co_await leat::this_task::yield();
  std::this_thread::sleep_for(time);
}

TEST_CASE("warn_on_long_turns: omits reports above the limit and counts them", "[async]") {
  std::mutex mutex;
  std::vector<long_turn> all;
  {
    const warn_on_long_turns watchdog(1ms, {.on_report =
                                                [&](const long_turn& turn) {
                                                  const std::lock_guard lock(mutex);
                                                  all.push_back(turn);
                                                },
                                            .reports_per_minute = 3});
    for (int i = 0; i < 5; ++i) leat::block_on(hold_for(10ms));
  }
  // The end of a run that was reported is free.
  const auto first = [](const long_turn& turn) { return !turn.was_reported; };
  CHECK(std::ranges::count_if(all, first) == 3);
  CHECK(all.size() <= 6);
}

LEAT_LOOP_TEST("warn_on_long_turns: may be destroyed while a task holds its loop") {
  TestType loop;
  leat::task_group group;
  reports seen;
  std::optional<warn_on_long_turns> watchdog(std::in_place, 1ms, seen.options());
  group.spawn_on(
      loop.get_scheduler(),
      [](reports& r, std::optional<warn_on_long_turns>& w) -> task<> {
        co_await leat::this_task::yield();
        r.wait_for(1);
        w.reset();
        w.emplace(1ms, r.options());  // the run in progress is not watched
        co_await leat::this_task::yield();
        r.wait_for(2);
      }(seen, watchdog),
      "guilty");
  loop.run_ready();
  CHECK(group.live_tasks() == 0);
  CHECK(seen.all()[1].task == "guilty");
}

TEST_CASE("warn_on_long_turns: its destructor waits for the report in progress", "[async]") {
  std::atomic<bool> is_reporting = false;
  std::atomic<bool> has_reported = false;
  {
    const warn_on_long_turns watchdog(1ms, {.on_report = [&](const long_turn&) {
                                        is_reporting = true;
                                        std::this_thread::sleep_for(50ms);
                                        has_reported = true;
                                      }});
    leat::block_on([](std::atomic<bool>& reporting) -> task<> {
      co_await leat::this_task::yield();
      while (!reporting) std::this_thread::yield();
    }(is_reporting));
  }
  CHECK(has_reported);
}

LEAT_LOOP_TEST("warn_on_long_turns: a loop may be destroyed after a task has held it") {
  reports seen;
  const warn_on_long_turns watchdog(1ms, seen.options());
  TestType loop;
  leat::task_group group;
  group.spawn_on(
      loop.get_scheduler(),
      [](reports& r) -> task<> {
        co_await leat::this_task::yield();
        r.wait_for(1);
        co_await leat::sleep_for(1h);
      }(seen),
      "guilty");
  loop.run_ready();
  loop.end();
  CHECK(group.live_tasks() == 0);
}

TEST_CASE("warn_on_long_turns: each of two objects has its own threshold", "[async]") {
  reports shorter;
  reports longer;
  const warn_on_long_turns first(2ms, shorter.options());
  const warn_on_long_turns second(1h, longer.options());
  leat::block_on(await_holder(shorter));
  CHECK(longer.all().empty());
}

TEST_CASE("warn_on_long_turns: a child of fork() runs tasks and ends without reports",
          "[async][fork]") {
  reports seen;
  std::optional<warn_on_long_turns> watchdog(std::in_place, 1ms, seen.options());
  const auto end = leat_test::fork_and_read({}, [&](int) {
    leat::block_on(hold_for(10ms));
    watchdog.reset();
    return seen.all().empty() ? 0 : 2;
  });
  CHECK(end.status == 0);
}

TEST_CASE("warn_on_long_turns: the text names the task, its places and the omitted reports",
          "[async]") {
  long_turn turn;
  turn.task = "parse";
  turn.spawned_at = "main.cpp:31 in run";
  turn.waited_at = {"pop at parser.cpp:41 in parse_all", "parser.cpp:77 in run_parser"};
  turn.lasted = 52ms;
  turn.thread = 4711;
  turn.omitted = 3;
  CHECK(to_text(turn) ==
        "leat: task 'parse' has held its loop for 52 ms (scheduler 0, thread 4711)\n"
        "  since pop at parser.cpp:41 in parse_all\n"
        "  awaited at parser.cpp:77 in run_parser\n"
        "  spawned at main.cpp:31 in run\n"
        "  3 long runs were omitted before\n");
  turn.has_ended = true;
  turn.lasted = 1203ms;
  turn.until = "the end of the task";
  turn.values = {{"request", "17"}};
  CHECK(to_text(turn) ==
        "leat: task 'parse' held its loop for 1.203 s, until the end of the task\n"
        "  since pop at parser.cpp:41 in parse_all\n"
        "  awaited at parser.cpp:77 in run_parser\n"
        "  spawned at main.cpp:31 in run\n"
        "  with request 17\n"
        "  3 long runs were omitted before\n");
  turn.was_reported = true;
  turn.omitted = 0;
  CHECK(to_text(turn) ==
        "leat: task 'parse' held its loop for 1.203 s, until the end of the task\n"
        "  with request 17\n");
  turn.task = "task spawned at main.cpp:31 in run";
  turn.values.clear();
  CHECK(to_text(turn) ==
        "leat: task spawned at main.cpp:31 in run held its loop for 1.203 s, until the end of the "
        "task\n");
}

TEST_CASE("warn_on_long_turns: a run that the limit omits is reported while it still lasts",
          "[async]") {
  // The limit of a minute is 1 run, and the clock cannot be moved: the run in progress takes the
  // whole budget, its repetitions and its end are free, and the next run is omitted.
  reports seen;
  seen.keep_repeated = true;
  leat::long_turn_options options = seen.options();
  options.reports_per_minute = 1;
  std::optional<warn_on_long_turns> watchdog;
  leat::block_on([](reports& r, auto& w, leat::long_turn_options o) -> task<> {
    w.emplace(2ms, std::move(o));  // the run in progress is not watched
    co_await leat::this_task::yield();
    r.wait_for(2);  // the first report, and the one after 10 times as long
    co_await leat::this_task::yield();
    r.wait_for(3);
  }(seen, watchdog, std::move(options)));
  const std::vector<long_turn> all = seen.all();
  CHECK_FALSE(all[0].was_reported);
  CHECK(all[1].was_reported);
  CHECK_FALSE(all[1].has_ended);
  CHECK(all[1].lasted >= 10 * all[0].lasted);
  CHECK(all[2].was_reported);
  CHECK(all[2].has_ended);
  leat::block_on(hold_for(20ms));
  CHECK(seen.all().size() == 3);
}

TEST_CASE("warn_on_long_turns: the report of the end has the named task-locals", "[async]") {
  static constinit leat::task_local<int> request("request");
  reports seen;
  const warn_on_long_turns watchdog(2ms, seen.options());
  leat::block_on(request.with(17, await_holder(seen)));
  CHECK(seen.all()[0].values.empty());
  CHECK(seen.all()[1].values ==
        std::vector<std::pair<std::string, std::string>>{{"request", "17"}});
}

TEST_CASE("warn_on_long_turns: metrics() and the dump show a loop that is held now", "[async]") {
  reports seen;
  const warn_on_long_turns watchdog(2ms, seen.options());
  std::atomic<bool> ends = false;
  std::thread loop([&] {
    leat::block_on([](std::atomic<bool>& e) -> task<> {
      leat::task_group group("group");
      group.spawn(hold_until(e), "stuck");
      group.spawn(yield_once(), "innocent");
      co_await group.join();
    }(ends));
  });
  seen.wait_for(1);
  const std::string text = leat::metrics(0ms);
  CHECK(highest(text, "leat_scheduler_turn_seconds") >= 0.002);
  CHECK(highest(text, "leat_scheduler_longest_turn_seconds") >= 0.002);
  CHECK(highest(text, "leat_scheduler_busy_seconds_total") >= 0.002);
  CHECK(highest(text, "leat_scheduler_long_turns_total") >= 1);
  std::ostringstream out;
  leat::dump(out, 10ms);
  CHECK(std::regex_search(
      out.str(), std::regex("innocent: not known: its scheduler does not answer: task 'stuck' has "
                            "held its loop for \\d+\\.\\d{3} s \\(thread \\d+\\)")));
  ends = true;
  loop.join();
  CHECK(highest(leat::metrics(), "leat_scheduler_turn_seconds") <= 0);
}

}  // namespace warn_on_long_turns_test
