// Coordinators: spawn() keeps bodies and callables alive, and join() stops tasks that do not
// finish.

#include "leat/coordination/coordinator.hpp"

#include <stdexcept>
#include <string>

#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "support/leat_test.hpp"

namespace coordinator_spawn_test {

using namespace std::chrono_literals;
using leat::task;

task<> nap(leat::duration d) { co_await leat::sleep_for(d); }

// Sleeps for `d` and ignores every stop request.
task<> stubborn(leat::duration d) {
  leat::task_group g(leat::shielded, "secret");
  g.spawn(nap(d));
  co_await g.join();
}

// Returns the message of the exception that join() throws, or an empty string.
task<std::string> joined(leat::coordinator& c, leat::join_options options) {
  std::string what;
  try {
    co_await c.join(options);
  } catch (const std::exception& e) {
    what = e.what();
  }
  co_return what;
}

LEAT_TEST("with_coordinator: a body that spawns and then throws is joined", "[coordination]") {
  std::string what;
  try {
    co_await leat::with_coordinator([&](leat::coordinator& coord) -> task<> {
      coord.spawn(nap(1h));
      throw std::runtime_error("cannot begin");  // a function, not a coroutine
    });
  } catch (const std::runtime_error& e) {
    what = e.what();
  }
  CHECK(what == "cannot begin");
}

LEAT_TEST("coordinator: a callable that was spawned lives until its task has finished",
          "[coordination]") {
  std::string seen;
  leat::coordinator coord;
  {
    const std::string text(100, 'x');
    coord.spawn([&seen, text]() -> task<> {
      co_await leat::sleep_for(1ms);
      seen = text;
    });
  }
  co_await coord.join();
  CHECK(seen == std::string(100, 'x'));
}

LEAT_TEST("coordinator: join() with stop_after drains, then stops, then waits for the grace",
          "[coordination]") {
  leat::scheduler& sched = co_await leat::this_task::get_scheduler();
  const auto takes = [&sched](leat::duration work, bool deaf) -> task<leat::duration> {
    leat::coordinator coord;
    if (deaf) {
      coord.spawn(stubborn(work), "stubborn");
    } else {
      coord.spawn(nap(work), "napping");
    }
    const leat::time_point begin = sched.now();
    const std::string what = co_await joined(coord, {.stop_after = 30s, .grace = 5s});
    const leat::duration taken = sched.now() - begin;
    CHECK((what.find("stubborn") != what.npos) == (deaf && work > 35s));
    if (!what.empty()) co_await coord.join({.grace = 1h});
    co_return taken;
  };
  const auto by_itself = co_await takes(10s, false);
  CHECK(by_itself == 10s);
  const auto stopped = co_await takes(1h, false);
  CHECK(stopped == 30s);
  const auto in_grace = co_await takes(33s, true);
  CHECK(in_grace == 33s);
  const auto late = co_await takes(40s, true);
  CHECK(late == 35s);
}

LEAT_TEST("with_coordinator: returns the result of its body", "[coordination]") {
  const int result = co_await leat::with_coordinator(
      [&](leat::coordinator& coord) -> task<int> {
        coord.spawn([]() -> task<> { co_await leat::sleep_for(std::chrono::seconds(1)); });
        co_return 7;
      },
      "valued");
  CHECK(result == 7);
}

LEAT_TEST("with_coordinator: a body that was stopped before its result fails with cancelled",
          "[coordination]") {
  std::error_code code;
  try {
    co_await leat::with_coordinator([&](leat::coordinator& coord) -> task<int> {
      coord.request_stop();
      co_await leat::sleep_for(std::chrono::seconds(1));
      co_return 7;
    });
  } catch (const leat::failure& e) {
    code = e.code();
  }
  CHECK(code == leat::errc::cancelled);
}

}  // namespace coordinator_spawn_test
