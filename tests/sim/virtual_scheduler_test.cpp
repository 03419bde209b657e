#include "leat/sim/virtual_scheduler.hpp"

#include <chrono>
#include <string>
#include <vector>

#include "leat/core/error.hpp"
#include "leat/core/random.hpp"
#include "leat/core/sleep.hpp"
#include "leat/core/task_group.hpp"
#include "leat/core/this_task.hpp"
#include "support/leat_test.hpp"

namespace {

using namespace std::chrono_literals;
using leat::task;

/// Waits until it is told to stop, and does not let go then if it is told to be stubborn.
task<void> sleep_forever() {
  for (;;) co_await leat::sleep_for(1h);
}

task<void> wait_for(leat::task_group& group) { co_await group.join(); }

task<void> note(std::vector<int>& out, int value) {
  out.push_back(value);
  co_return;
}

LEAT_TEST("sim: a case's body runs on virtual time from its beginning", "[sim]") {
  leat::scheduler& home = co_await leat::this_task::get_scheduler();
  REQUIRE(home.now() == leat::time_point{});
  co_await leat::sleep_for(24h);
  REQUIRE(home.now() == leat::time_point{} + 24h);
}

LEAT_TEST("sim: a check may stand around an await", "[sim]") {
  const auto answer = [](int n) -> task<int> { co_return n; };
  REQUIRE(co_await answer(42) == 42);
}

TEST_CASE("sim: run gives the task's result", "[sim]") {
  const auto answer = [](int n) -> task<int> { co_return n; };
  CHECK(leat::sim::run(answer(7)) == 7);
}

TEST_CASE("sim: run throws the task's error", "[sim]") {
  const auto fail = []() -> task<int> {
    throw leat::failure(leat::errc::data_loss, "gone");
    co_return 0;
  };
  CHECK_THROWS_AS(leat::sim::run(fail()), leat::failure);
}

TEST_CASE("sim: time stands still while anything can run", "[sim]") {
  const auto body = []() -> task<bool> {
    leat::scheduler& home = co_await leat::this_task::get_scheduler();
    leat::task_group group;
    group.spawn([]() -> task<void> { co_await leat::sleep_for(1ns); }());
    for (int i = 0; i < 1000; ++i) co_await leat::this_task::yield();
    const bool stood_still = home.now() == leat::time_point{};
    co_await group.join();
    co_return stood_still;
  };
  CHECK(leat::sim::run(body()));
}

TEST_CASE("sim: a task that waits for what cannot come is a deadlock, with everyone's place",
          "[sim]") {
  const auto body = []() -> task<void> {
    leat::task_group stuck("stuck");
    stuck.spawn(wait_for(stuck), "waits for itself");
    co_await stuck.join();
  };
  std::string what;
  // The join of a group is not cancelled by a stop: a case for the last resort, see below. Here the
  // inner task joins its own group, which ends by nothing but its own end.
  static_cast<void>(body);
  const auto sleeper = []() -> task<void> {
    leat::scheduler& home = co_await leat::this_task::get_scheduler();
    static_cast<void>(home);
    struct never : leat::wait {
      never() noexcept : wait(the_kind(), std::source_location::current()) {}
      static const kind& the_kind() {
        static const kind k{"wait for", [](leat::wait& w) noexcept { w.wake(); },
                            [](const leat::wait&, std::ostream& out) { out << "a miracle"; }};
        return k;
      }
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<>) noexcept { begin_wait(); }
      void await_resume() const { throw leat::failure(leat::errc::cancelled, "miracle"); }
    } n;
    co_await n;
  };
  try {
    leat::sim::run(sleeper());
    FAIL("no deadlock");
  } catch (const leat::sim::deadlock& e) {
    what = e.what();
  }
  INFO(what);
  CHECK(what.find("deadlock") != what.npos);
  CHECK(what.find("wait for a miracle") != what.npos);
  CHECK(what.find("virtual_scheduler_test.cpp:") != what.npos);
}

}  // namespace
