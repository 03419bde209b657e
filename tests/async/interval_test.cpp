#include "leat/async/interval.hpp"

#include <variant>

#include <asio/post.hpp>

#include "async/task_steps.hpp"
#include "support/dump.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"

namespace interval_test {

using leat::interval;
using leat::missed_tick_policy;
using milliseconds = std::vector<std::chrono::milliseconds>;

// The times at which the ticks completed, and their scheduled times, since the call. `busy` is how
// long the body takes after each tick.
struct ticks {
  milliseconds at;
  milliseconds scheduled;
};
task<ticks> run(interval& every, const std::vector<leat::duration>& busy) {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  const auto since = [&](leat::time_point t) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(t - begin);
  };
  ticks seen;
  for (const leat::duration d : busy) {
    const leat::time_point tick = co_await every.tick();
    seen.at.push_back(since(sched.now()));
    seen.scheduled.push_back(since(tick));
    co_await leat::sleep_for(d);
  }
  co_return seen;
}

// --------------------------------------------------------------------------------- schedule

LEAT_TEST("interval: the first tick is immediate, and the durations of the body do not add up") {
  interval every(100ms);
  CHECK(every.period() == 100ms);
  const std::vector<leat::duration> busy{30ms, 0ms, 99ms, 100ms, 1ms};
  const ticks seen = co_await run(every, busy);
  CHECK(seen.at == milliseconds{0ms, 100ms, 200ms, 300ms, 400ms});
  CHECK(seen.scheduled == seen.at);
}

LEAT_TEST("interval: the schedule begins with the first tick, not with the constructor") {
  interval every(100ms);
  co_await leat::sleep_for(70ms);
  const std::vector<leat::duration> busy{0ms, 0ms};
  const ticks seen = co_await run(every, busy);
  CHECK(seen.at == milliseconds{0ms, 100ms});
}

LEAT_TEST("interval: catches up on missed ticks without a pause by default") {
  interval every(100ms);
  const std::vector<leat::duration> busy{250ms, 0ms, 0ms, 0ms, 0ms};
  const ticks seen = co_await run(every, busy);
  CHECK(seen.at == milliseconds{0ms, 250ms, 250ms, 300ms, 400ms});
  CHECK(seen.scheduled == milliseconds{0ms, 100ms, 200ms, 300ms, 400ms});
}

LEAT_TEST("interval: skips missed ticks if the policy is skip") {
  interval every(100ms, missed_tick_policy::skip);
  const std::vector<leat::duration> busy{250ms, 100ms, 200ms, 50ms, 0ms};
  const ticks seen = co_await run(every, busy);
  CHECK(seen.at == milliseconds{0ms, 300ms, 400ms, 600ms, 700ms});
  CHECK(seen.scheduled == seen.at);
}

LEAT_TEST("interval: does not drift in a thousand ticks") {
  interval every(10ms);
  const std::vector<leat::duration> busy(1000, 3ms);
  const ticks seen = co_await run(every, busy);
  CHECK(seen.at.back() == 9990ms);
}

LEAT_TEST("interval: a period beyond the range of the clock never ends") {
  interval every(std::chrono::hours::max());
  co_await every.tick();
  const auto [ec, tick] = co_await leat::as_tuple(leat::with_timeout(every.tick(), 1h));
  CHECK(ec == errc::deadline_exceeded);
}

TEST_CASE("interval: a period of 0 or less fails with invalid_argument") {
  for (const leat::duration period : {0ns, -1ns}) {
    const leat_test::outcome o = outcome_of([&] { const interval every{leat::time_span(period)}; });
    CHECK(o.code == errc::invalid_argument);
    CHECK(o.text.starts_with("interval: the period is " + std::to_string(period.count()) +
                             " ns: use a period above 0"));
  }
}

// ------------------------------------------------------------------------------ cancellation

task<> tick_forever(interval& every, int& count) {
  for (;;) {
    co_await every.tick();
    ++count;
  }
}

LEAT_TEST("interval: a stop ends the wait with cancelled") {
  interval every(1h);
  int count = 0;
  co_await task_steps::run_and_stop(tick_forever(every, count));  // ends without another error
  CHECK(count == 1);
}

LEAT_TEST("interval: a tick that a time limit or a select() gave up is not lost") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  interval every(100ms);
  const leat::time_point begin = co_await every.tick();
  const auto [ec, none] = co_await leat::as_tuple(leat::with_timeout(every.tick(), 30ms));
  CHECK(ec == errc::deadline_exceeded);
  const auto lost = co_await leat::select(leat::sleep_for(30ms), every.tick());
  CHECK(lost.index() == 0);
  const auto won = co_await leat::select(every.tick(), leat::sleep_for(90ms));
  REQUIRE(won.index() == 0);
  CHECK(std::get<0>(won) == begin + 100ms);
  CHECK(sched.now() == begin + 100ms);
  const auto [ok, tick] = co_await leat::as_tuple(every.tick());
  CHECK_FALSE(ok);
  CHECK(tick == begin + 200ms);
}

LEAT_TEST("interval: the message of a limit names the tick") {
  interval every(1h);
  co_await every.tick();
  const std::string text = co_await message_of<leat::failure>(leat::with_timeout(every.tick(), 1s));
  CHECK(text.starts_with("tick of an interval: timed out"));
}

LEAT_TEST("interval: tasks that wait at the same time receive the same tick") {
  interval every(100ms);
  int first = 0;
  int second = 0;
  task_group group;
  group.spawn(tick_forever(every, first));
  group.spawn(tick_forever(every, second));
  co_await leat::sleep_for(350ms);
  group.request_stop();
  co_await group.join();
  CHECK(first == 4);
  CHECK(second == 4);
}

LEAT_TEST("interval: other tasks run between missed ticks") {
  interval every(1ms);
  co_await every.tick();
  co_await leat::sleep_for(10ms);
  int others = 0;
  task_group group;
  group.spawn([](int& n) -> task<> {
    for (; n < 10; ++n) co_await leat::this_task::yield();
  }(others));
  for (int i = 0; i < 9; ++i) co_await every.tick();
  CHECK(others > 0);
  co_await group.join();
}

LEAT_TEST("interval: a dump shows a wait for a tick as a sleep") {
  interval every(1h);
  int count = 0;
  task_group group;
  group.spawn(tick_forever(every, count));
  co_await leat::sleep_for(1s);
  const std::string text = leat_test::dump();
  group.request_stop();
  co_await group.join();
  CHECK(contains(text, "sleep for another 3599000 ms, at interval_test.cpp:"));
}

// ------------------------------------------------------------------------------------ others

leat_test::foreign_coroutine tick_in_foreign_coroutine(interval& every, int& count) {
  co_await every.tick();
  ++count;
  const auto [ec, tick] = co_await leat::as_tuple(every.tick());
  if (!ec) ++count;
}

TEST_CASE("interval: a coroutine of another library can await a tick") {
  leat_test::asio_loop loop;
  static_cast<void>(loop.get_scheduler());
  interval every(10us);
  int count = 0;
  leat_test::foreign_coroutine ticker{};
  asio::post(loop.context(), [&] { ticker = tick_in_foreign_coroutine(every, count); });
  loop.context().run();
  CHECK(count == 2);
  ticker.handle.destroy();
}

LEAT_LOOP_TEST("interval: a task that waits for a tick is destroyed with its scheduler") {
  for (const bool in_select : {false, true}) {
    interval every(1h);
    int count = 0;
    const auto wait = [](interval& i) -> task<> {
      for (;;) co_await leat::select(i.tick(), leat::sleep_for(2h));
    };
    task_group group;
    {
      TestType loop;
      group.spawn_on(loop.get_scheduler(), in_select ? wait(every) : tick_forever(every, count));
      for (int i = 0; i < 3; ++i) loop.run_one_turn();
      loop.end();
    }
    CHECK(leat_test::is_cancelled(group));
  }
}

}  // namespace interval_test
