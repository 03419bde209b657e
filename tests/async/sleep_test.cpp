#include "leat/async/sleep.hpp"

#include "async/task_steps.hpp"
#include "leat/base/random.hpp"
#include "support/leat_test.hpp"

namespace sleep_test {

using namespace task_steps;
using leat::sleep_for;
using leat::sleep_until;

task<leat::duration> time_of(task<void> t) {
  const stopwatch time;
  co_await std::move(t);
  co_return time.elapsed();
}

task<void> sleep_to(leat::time_point t) { co_await sleep_until(t); }

LEAT_TEST("sleep_for: lasts exactly its duration on virtual time") {
  CHECK(co_await time_of(sleep(90min)) == 90min);
}

LEAT_TEST("sleep_for: zero and negative durations take no time and let other tasks run") {
  int ran = 0;
  task_group group;
  group.spawn(count(ran));
  CHECK(co_await time_of(sleep(0ns)) == 0ns);
  CHECK(ran == 1);
  CHECK(co_await time_of(sleep(-5s)) == 0ns);
  co_await group.join();
}

LEAT_TEST("sleep_until: a point in the past takes no time") {
  co_await sleep_for(1h);
  CHECK(co_await time_of(sleep_to(leat::time_point{} + 1s)) == 0ns);
}

LEAT_TEST("sleep_until: a later point is reached exactly") {
  CHECK(co_await time_of(sleep_to(leat::time_point{} + 7s)) == 7s);
}

LEAT_TEST("sleep_for: sleeps end in the order of their times") {
  std::vector<int> order;
  const auto note_after = [](std::vector<int>& out, int ms) -> task<void> {
    co_await sleep_for(std::chrono::milliseconds(ms));
    out.push_back(ms);
  };
  task_group group;
  for (const int ms : {30, 10, 20, 40, 15}) group.spawn(note_after(order, ms));
  co_await group.join();
  CHECK(order == std::vector{10, 15, 20, 30, 40});
}

LEAT_TEST("sleep_for: a stop cancels it at once") {
  std::error_code code;
  const auto sleeper = [&]() -> task<void> { code = co_await code_of(sleep_for(1h)); };
  CHECK(co_await time_of(run_and_stop(sleeper())) == 1ms);
  CHECK(code == errc::cancelled);
}

LEAT_TEST("sleep_for: does not sleep after a stop request") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  int cancelled = 0;
  const auto sleeper = [](int& c) -> task<void> {
    for (int i = 0; i < 3; ++i) {
      if (co_await throws<leat::failure>(sleep_for(1h))) ++c;
    }
  };
  task_group group;
  group.spawn(sleeper(cancelled));
  group.request_stop();
  co_await group.join();
  CHECK(cancelled == 3);
  CHECK(sched.now() == leat::time_point{});
}

LEAT_TEST("sleep_for: a stop at the same time as the alarm has one outcome") {
  // The alarm of the stopping task was set first. When it expires, the sleeper's alarm has expired
  // already or will be cancelled. In both cases the sleeper resumes once.
  int ends = 0;
  const auto sleeper = [](int& n) -> task<void> {
    co_await throws<leat::failure>(sleep_for(1s));
    ++n;
  };
  task_group group;
  const auto stopper = [](task_group& g) -> task<void> {
    co_await sleep_for(1s);
    g.request_stop();
  };
  group.spawn(stopper(group));
  for (int i = 0; i < 3; ++i) group.spawn(sleeper(ends));
  co_await group.join();
  CHECK(ends == 3);
}

LEAT_TEST("sleep_for: a duration beyond the clock's range does not overflow") {
  bool cancelled = false;
  const auto sleeper = [](bool& c) -> task<void> {
    c = co_await throws<leat::failure>(sleep_for(leat::duration::max()));
  };
  co_await sleep_for(1h);
  task_group group;
  group.spawn(sleeper(cancelled));
  co_await sleep_for(1000h);
  CHECK_FALSE(cancelled);
  group.request_stop();
  co_await group.join();
  CHECK(cancelled);
}

LEAT_TEST("sleep_for: 1,000 sleepers of random length all wake at their time") {
  leat::random_engine random(3);
  int right = 0;
  const auto sleeper = [](leat::duration d, int& n) -> task<void> {
    n += co_await time_of(sleep(d)) == d;
  };
  task_group group;
  for (int i = 0; i < 1000; ++i) {
    group.spawn(
        sleeper(leat::duration(static_cast<std::int64_t>(random.uniform_below(1'000'000))), right));
  }
  co_await group.join();
  CHECK(right == 1000);
}

}  // namespace sleep_test
