// tests/examples/observability.py parses a complete text.

#include "leat/async/dump/metrics.hpp"

#include <atomic>
#include <thread>

#include "support/leat_test.hpp"

namespace metrics_test {

using leat::metrics;

// The value of the first sample of a metric, or -1.
double value_of(const std::string& text, const std::string& name) {
  const auto at = text.find("\n" + name);
  if (at == text.npos) return -1;
  return std::stod(text.substr(text.find("} ", at) + 2));
}

// The sum over all samples of a metric.
double sum_of(const std::string& text, const std::string& name) {
  double sum = 0;
  for (auto at = text.find("\n" + name + "{"); at != text.npos;
       at = text.find("\n" + name + "{", at + 1)) {
    sum += std::stod(text.substr(text.find("} ", at) + 2));
  }
  return sum;
}

task<> yield_once() { co_await leat::this_task::yield(); }

TEST_CASE("metrics: a scheduler counts its tasks and turns", "[async]") {
  leat::runtime rt({.threads = 1});
  const std::string before = metrics();
  rt.block_on([]() -> task<> {
    leat::task_group group;
    for (int i = 0; i < 10; ++i) group.spawn(yield_once());
    co_await group.join();
  }());
  const auto grown_by = [&before](const char* name, double count) {
    return sum_of(metrics(), name) - sum_of(before, name) >= count;
  };
  // The counters appear when the turn ends, which may be after block_on() has returned.
  while (!grown_by("leat_scheduler_started_tasks_total", 11)) std::this_thread::yield();
  CHECK(grown_by("leat_scheduler_turns_total", 1));
}

TEST_CASE(
    "metrics: a scheduler that holds its thread is counted, and delays the call by the "
    "patience only",
    "[async]") {
  leat::runtime rt({.threads = 1});
  std::atomic<bool> holds = false;
  std::atomic<bool> go = false;
  std::thread other([&] {
    rt.block_on([](std::atomic<bool>& h, std::atomic<bool>& g) -> task<> {
      h = true;
      while (!g) std::this_thread::yield();
      co_return;
    }(holds, go));
  });
  while (!holds) std::this_thread::yield();
  const std::string text = metrics(1ms);
  go = true;
  other.join();
  CHECK(contains(text, "leat_scheduler_turns_total{scheduler=\""));
}

TEST_CASE("metrics: a new scheduler continues the counters of its number", "[async]") {
  leat::block_on(yield_once());
  std::string first;
  std::string second;
  leat::block_on([](std::string& text) -> task<> {
    text = metrics();
    co_return;
  }(first));
  leat::block_on([](std::string& text) -> task<> {
    text = metrics();
    co_return;
  }(second));
  CHECK(value_of(first, "leat_scheduler_turns_total{scheduler=\"0\"}") > 0);
  CHECK(value_of(second, "leat_scheduler_turns_total{scheduler=\"0\"}") >
        value_of(first, "leat_scheduler_turns_total{scheduler=\"0\"}"));
}

TEST_CASE("metrics: times of turns are measured while a watchdog exists", "[async]") {
  leat::runtime rt({.threads = 1});
  const leat::warn_on_long_turns watchdog(5ms, {.on_report = [](const leat::long_turn&) {}});
  rt.block_on([]() -> task<> {
    co_await leat::this_task::yield();
    std::this_thread::sleep_for(20ms);
  }());
  const std::string text = metrics();
  CHECK(sum_of(text, "leat_scheduler_busy_seconds_total") >= 0.02);
  CHECK(sum_of(text, "leat_scheduler_longest_turn_seconds") >= 0.02);
  CHECK(sum_of(text, "leat_scheduler_long_turns_total") >= 1);
}

TEST_CASE("metrics: a blocking pool reports its threads and calls", "[async]") {
  leat::blocking_pool pool({.threads = 3, .name = "decode \"x\"\n"});
  leat::block_on(
      [](leat::blocking_pool& p) -> task<> { co_await leat::run_blocking(p, [] {}); }(pool));
  const std::string text = metrics();
  CHECK(contains(text, "leat_blocking_pool_max_threads{pool=\"decode \\\"x\\\"\\n\"} 3\n"));
  CHECK(contains(text, "leat_blocking_pool_threads{pool=\"decode \\\"x\\\"\\n\"} 1\n"));
  CHECK(contains(text, "leat_blocking_pool_waiting_calls{pool=\"decode \\\"x\\\"\\n\"} 0\n"));
}

}  // namespace metrics_test
