#include "leat/sim/virtual_scheduler.hpp"

#include "async/manual_event.hpp"
#include "leat/base/random.hpp"
#include "support/leat_test.hpp"
#include "support/tracked.hpp"

namespace virtual_scheduler_test {
using leat_test::manual_event;

task<int> give(int n) { co_return n; }

task<void> wait_for(manual_event& event) { co_await event.wait(); }

task<void> hold_while_waiting(leat_test::tracked, manual_event& event) { co_await event.wait(); }

task<void> note(std::vector<int>& out, int value) {
  out.push_back(value);
  co_return;
}

/// Returns the message of run() for a task that is deadlocked, or an empty string if it ends.
std::string deadlock_of(task<void> t) {
  try {
    leat::sim::run(std::move(t));
    return {};
  } catch (const leat::sim::deadlock& e) {
    return e.what();
  }
}

LEAT_TEST("sim: a test's body begins at time zero, and sleeping takes no time") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  REQUIRE(sched.now() == leat::time_point{});
  co_await leat::sleep_for(24h);
  REQUIRE(sched.now() == leat::time_point{} + 24h);
}

LEAT_TEST("sim: the time of day moves with virtual time") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::wall_time_point begin = sched.wall_time();
  CHECK(begin == leat::wall_time_point(std::chrono::seconds{946'684'800}));
  co_await leat::sleep_for(24h);
  CHECK(sched.wall_time() == begin + 24h);
}

TEST_CASE("sim: setting the wall clock back moves no timer") {
  leat::sim::virtual_scheduler s;
  const leat::wall_time_point begin = s.wall_time();
  s.process().jump_wall_clock(-90min);
  CHECK(s.wall_time() == begin - 90min);
  CHECK(s.now() == leat::time_point{});
  s.advance_to(s.now() + 1h);
  CHECK(s.wall_time() == begin - 30min);
}

LEAT_TEST("sim: a check macro evaluates an awaited expression once") {
  int n = 0;
  const auto count = [](int& c) -> task<int> { co_return ++c; };
  REQUIRE(co_await count(n) == 1);
  CHECK(co_await count(n) == 2);
}

TEST_CASE("sim: run() returns the task's result") { CHECK(leat::sim::run(give(7)) == 7); }

TEST_CASE("sim: run() throws the task's error") {
  const auto fail = []() -> task<int> {
    throw leat::failure(errc::data_loss, "gone");
    co_return 0;
  };
  CHECK_THROWS_AS(leat::sim::run(fail()), leat::failure);
}

LEAT_TEST("virtual_scheduler: time does not advance while anything can run") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  task_group group;
  group.spawn([]() -> task<void> { co_await leat::sleep_for(1ns); }());
  for (int i = 0; i < 1000; ++i) co_await leat::this_task::yield();
  CHECK(sched.now() == leat::time_point{});
  co_await group.join();
  CHECK(sched.now() == leat::time_point{} + 1ns);
}

TEST_CASE("virtual_scheduler: a simulation decides which ready item runs next") {
  leat::sim::virtual_scheduler sched;
  std::vector<int> order;
  task_group group;
  for (int i = 0; i < 4; ++i) group.spawn_on(sched, note(order, i), "note " + std::to_string(i));
  CHECK(sched.ready() == 4);
  CHECK(sched.describe(3) == "note 3 begins");
  while (const std::size_t n = sched.ready()) sched.run_one(n - 1);
  CHECK(order == std::vector{3, 2, 1, 0});
}

TEST_CASE("virtual_scheduler: run_now does not run items that are not due") {
  leat::sim::virtual_scheduler sched;
  bool woken = false;
  task_group group;
  group.spawn_on(sched, [](bool& w) -> task<void> {
    co_await leat::sleep_for(10ms);
    w = true;
  }(woken));
  while (sched.run_now()) {
  }
  CHECK(sched.next_event() == leat::time_point{} + 10ms);
  sched.advance_to(leat::time_point{} + 9ms);
  while (sched.run_now()) {
  }
  CHECK_FALSE(woken);
  sched.advance_to(leat::time_point{} + 10ms);
  while (sched.run_now()) {
  }
  CHECK(woken);
  CHECK(sched.live_tasks() == 0);
}

TEST_CASE("virtual_scheduler: run_now runs at most the given number of items") {
  leat::sim::virtual_scheduler sched;
  std::vector<int> order;
  task_group group;
  for (int i = 0; i < 4; ++i) group.spawn_on(sched, note(order, i));
  CHECK(sched.run_now(2));
  CHECK(order == std::vector{0, 1});
  sched.run_until_idle();
  CHECK(order == std::vector{0, 1, 2, 3});
}

TEST_CASE("sim: a wait that nothing can end is a deadlock with a dump of all tasks") {
  const auto body = []() -> task<void> {
    manual_event never("the mail");
    task_group group("office");
    group.spawn(wait_for(never), "clerk");
    co_await group.join();
  };
  const std::string what = deadlock_of(body());
  INFO(what);
  CHECK(contains(what, "deadlock: nothing can run and 2 tasks have not ended"));
  CHECK(contains(what, "task group 'office', 1 task"));
  CHECK(contains(what, "clerk: wait for event 'the mail', at virtual_scheduler_test.cpp:"));
  CHECK(contains(what, "in virtual_scheduler_test::wait_for"));
}

TEST_CASE("sim: after a deadlock the stuck tasks are unwound and the next run works") {
  leat_test::counts counts;
  const auto body = [](leat_test::counts& c) -> task<void> {
    manual_event never;
    task_group group;
    for (int i = 0; i < 3; ++i) {
      group.spawn(hold_while_waiting(leat_test::tracked(c, i), never));
    }
    co_await group.join();
  };
  CHECK(contains(deadlock_of(body(counts)), "deadlock"));
  CHECK(counts.objects == 0);
  CHECK(leat::sim::run(give(1)) == 1);
}

TEST_CASE("sim: a task that cleans up in several steps finishes after a deadlock") {
  bool cleaned = false;
  const auto body = [](bool& done) -> task<void> {
    manual_event never;
    done = co_await throws<leat::failure>(never.wait());
    co_await leat::this_task::yield();
  };
  CHECK(contains(deadlock_of(body(cleaned)), "wait for event"));
  CHECK(cleaned);
}

TEST_CASE("sim: a deadlock also stops tasks that a stopped task starts") {
  const auto body = []() -> task<void> {
    manual_event never;
    try {
      co_await never.wait();
    } catch (const leat::failure&) {
    }
    task_group again;
    again.spawn(wait_for(never));
    co_await again.join();
  };
  CHECK(contains(deadlock_of(body()), "wait for event"));
}

TEST_CASE("sim: a task that never ends after a deadlock ends the process with the dump") {
  const std::string said = leat_test::abort_message([] {
    const auto stubborn = []() -> task<void> {
      manual_event never("godot");
      try {
        co_await never.wait();
      } catch (const leat::failure&) {
      }
      for (;;) co_await leat::this_task::yield();
    };
    leat::sim::run(stubborn());
  });
  CHECK(contains(said, "deadlock that a stop request did not end"));
  CHECK(contains(said, "wait for event 'godot'"));
}

}  // namespace virtual_scheduler_test
