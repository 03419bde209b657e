// What one is told of runners and of those who wait for them.

#include <chrono>
#include <sstream>
#include <string>

#include "leat/core/dump.hpp"
#include "leat/core/select.hpp"
#include "leat/core/task_group.hpp"
#include "leat/sync/queue_runner.hpp"
#include "support/leat_test.hpp"
#include "sync/runner_steps.hpp"

namespace queue_run_told_test {

using namespace runner_steps;
using namespace std::chrono_literals;

const std::string never_started = ", a queue_runner of which was never started";

std::string dump_now() {
  std::ostringstream out;
  leat::dump(out);
  return out.str();
}

LEAT_TEST("queue_runner: who waits for one that was never started is told so", "[sync]") {
  number_queue q(4, "lines");
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([&] { return count(n, 3); });
  leat::task_group consumers;
  consumers.spawn(pop(q));
  co_await leat::this_task::yield();
  const std::string text = dump_now();
  INFO(text);
  CHECK(text.find("pop from queue 'lines' (0 of 4)" + never_started) != text.npos);
  const std::string late = co_await said_by(
      [](number_queue& from) -> task<> { co_await leat::with_timeout(from.pop(), 1s); }(q));
  CHECK(late.find(never_started) != late.npos);

  leat::task_group group;
  runner.start(group);
  const std::string started = dump_now();
  CHECK(started.find("pop from queue 'lines' (0 of 4), at") != started.npos);
  co_await group.join();
  co_await consumers.join();
}

LEAT_TEST("queue_runner: of two, one that was never started is told though the other has run",
          "[sync]") {
  number_queue q(4, "lines");
  int n = 0;
  leat::queue_runner one(q);
  leat::queue_runner two(q);
  one.add([&] { return count(n, 30); });
  two.add([&] { return count(n, 30); });
  leat::task_group group;
  one.start(group);
  leat::task_group consumers;
  consumers.spawn(pop(q));
  co_await leat::this_task::yield();
  std::string text = dump_now();
  CHECK(text.find(never_started) != text.npos);
  two.start(group);
  text = dump_now();
  CHECK(text.find(never_started) == text.npos);
  co_await group.join();
  co_await consumers.join();
}

TEST_CASE("queue_runner: a program stuck for want of a start ends with a sentence of it",
          "[sync]") {
  std::string what;
  number_queue q(4, "lines");
  leat::queue_runner runner(q);
  try {
    leat::sim::run(pop(q));
  } catch (const leat::sim::deadlock& e) {
    what = e.what();
  }
  CHECK(what.find("pop from queue 'lines' (0 of 4)" + never_started) != what.npos);
}

}  // namespace queue_run_told_test
