#include "leat/coordination/looper.hpp"

#include "async/task_steps.hpp"
#include "coordination/runner_steps.hpp"
#include "leat/coordination/coordinator.hpp"
#include "support/leat_test.hpp"

namespace looper_test {

using milliseconds = std::vector<std::chrono::milliseconds>;

// The times of all starts, calls and stops of a looper, relative to the beginning, and its
// coordinator.
struct diary {
  const task_steps::stopwatch time;
  leat::coordinator coord;
  milliseconds starts;
  milliseconds calls;
  milliseconds stops;

  void note(milliseconds& in) const {
    in.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(time.elapsed()));
  }
};

task<> note_start(diary& d) {
  d.note(d.starts);
  co_return;
}
task<> note_stop(diary& d) {
  d.note(d.stops);
  co_return;
}

// Notes the call, requests the stop in the last of `calls` calls, then sleeps for the time in
// `takes`.
struct body {
  diary& seen;
  std::size_t calls;
  std::vector<leat::duration> takes{};

  task<> operator()() const { return run(*this); }

  static task<> run(const body& b) {
    const std::size_t n = b.seen.calls.size();
    b.seen.note(b.seen.calls);
    if (n + 1 == b.calls) b.seen.coord.request_stop();
    if (n < b.takes.size()) co_await leat::sleep_for(b.takes[n]);
  }
};

leat::looper_options hooks(diary& d, std::optional<leat::duration> interval) {
  leat::looper_options options;
  options.interval = interval;
  options.start_loop = [&d] { return note_start(d); };
  options.stop_loop = [&d] { return note_stop(d); };
  return options;
}

LEAT_TEST("looper: interval 0 runs its body until the body stops the coordinator") {
  leat::coordinator coord;
  int calls = 0;
  coord.spawn(leat::looper(
      [&]() -> task<> {
        if (++calls == 4) coord.request_stop();
        co_return;
      },
      {.interval = 0s}));
  co_await coord.join();
  CHECK(calls == 4);
}

LEAT_TEST("looper: calls the body at fixed times, between start_loop and stop_loop") {
  diary seen;
  seen.coord.spawn(leat::looper(body{seen, 3, {30ms, 99ms}}, hooks(seen, 100ms)));
  co_await seen.coord.join();
  CHECK(seen.starts == milliseconds{0ms});
  CHECK(seen.calls == milliseconds{0ms, 100ms, 200ms});
  CHECK(seen.stops == milliseconds{200ms});
}

LEAT_TEST("looper: the schedule begins after start_loop") {
  diary seen;
  leat::looper_options options = hooks(seen, 100ms);
  options.start_loop = []() -> task<> { co_await leat::sleep_for(7ms); };
  seen.coord.spawn(leat::looper(body{seen, 2}, options));
  co_await seen.coord.join();
  CHECK(seen.calls == milliseconds{7ms, 107ms});
}

LEAT_TEST("looper: catches up on missed calls without a pause") {
  diary seen;
  seen.coord.spawn(leat::looper(body{seen, 5, {250ms}}, hooks(seen, 100ms)));
  co_await seen.coord.join();
  CHECK(seen.calls == milliseconds{0ms, 250ms, 250ms, 300ms, 400ms});
}

LEAT_TEST("looper: skips missed calls if catching up is disabled") {
  diary seen;
  leat::looper_options options = hooks(seen, 100ms);
  options.missed_ticks = leat::missed_tick_policy::skip;
  seen.coord.spawn(leat::looper(body{seen, 5, {250ms, 100ms, 200ms, 50ms}}, options));
  co_await seen.coord.join();
  // A call that ends exactly at the next scheduled time does not skip it: 300 + 100, 400 + 200.
  CHECK(seen.calls == milliseconds{0ms, 300ms, 400ms, 600ms, 700ms});
}

LEAT_TEST("looper: does not drift in a thousand calls") {
  diary seen;
  const std::vector<leat::duration> takes(1000, 3ms);
  seen.coord.spawn(leat::looper(body{seen, 1000, takes}, hooks(seen, 10ms)));
  co_await seen.coord.join();
  CHECK(seen.calls.size() == 1000);
  CHECK(seen.calls.back() == 9990ms);
}

LEAT_TEST("looper: an error of the body reaches the coordinator, and stop_loop does not run") {
  diary seen;
  seen.coord.spawn(leat::looper([] { return runner_steps::fail("x"); }, hooks(seen, 100ms)));
  CHECK(co_await message_of(seen.coord.join()) == "x");
  CHECK(seen.starts.size() == 1);
  CHECK(seen.stops.empty());
}

LEAT_TEST("looper: an error of a hook reaches the coordinator") {
  for (const bool at_start : {true, false}) {
    diary seen;
    leat::looper_options options = hooks(seen, std::nullopt);
    (at_start ? options.start_loop : options.stop_loop) = [] { return runner_steps::fail("hook"); };
    seen.coord.spawn(leat::looper(body{seen, 1}, options));
    const std::string what = co_await message_of(seen.coord.join());
    // The body requested the stop first, so the error of stop_loop is a secondary error.
    CHECK(what == (at_start ? "hook" : ""));
    CHECK(seen.coord.secondary_errors().size() == (at_start ? 0 : 1));
    CHECK(seen.calls.size() == (at_start ? 0 : 1));
    CHECK(seen.stops.empty());
  }
}

LEAT_TEST("looper: a clean error is a stop without an error") {
  diary seen;
  seen.coord.spawn(
      leat::looper([] { return runner_steps::fail_with(errc::out_of_range); }, hooks(seen, 100ms)));
  CHECK(co_await message_of(seen.coord.join()) == "");
  CHECK(seen.coord.should_stop());
  CHECK(seen.stops.empty());
}

LEAT_TEST("looper: without an interval, calls follow at once and other tasks run in between") {
  diary seen;
  int turns = 0;
  seen.coord.spawn(leat::looper(body{seen, 5}, hooks(seen, std::nullopt)));
  seen.coord.spawn([](leat::coordinator& c, int& n) -> task<> {
    for (; !c.should_stop(); ++n) co_await leat::this_task::yield();
  }(seen.coord, turns));
  co_await seen.coord.join();
  CHECK(seen.calls == milliseconds(5, 0ms));
  CHECK(seen.stops == milliseconds{0ms});
  CHECK(turns >= 4);
}

// The type system ensures that the owner is a coordinator or a group.
TEST_CASE("looper: rejects an empty body and a negative interval") {
  CHECK(code_of([] { return leat::looper(nullptr); }) == errc::invalid_argument);
  CHECK(code_of([] { return leat::looper([]() -> task<> { co_return; }, {.interval = -1ms}); }) ==
        errc::invalid_argument);
  CHECK(code_of([] { return leat::looper([]() -> task<> { co_return; }); }) == std::error_code());
}

// spawn() makes and registers a looper in one step, before the looper has run.
LEAT_TEST("looper: belongs to the coordinator from spawn() on") {
  leat::coordinator coord;
  int calls = 0;
  {
    task<> never_spawned = leat::looper([&] { return task_steps::count(calls); });
    CHECK(coord.live_tasks() == 0);
  }
  coord.spawn(leat::looper([&] { return task_steps::count(calls); }), "saver");
  CHECK(calls == 0);
  CHECK(coord.live_tasks() == 1);
  CHECK(coord.report().at(0).name == "saver");
  coord.request_stop();
  co_await coord.join();
  CHECK(calls == 0);
}

LEAT_TEST("looper: after a stop it runs both hooks and no call") {
  diary seen;
  seen.coord.request_stop();
  seen.coord.spawn(leat::looper(body{seen, 5}, hooks(seen, 100ms)));
  co_await seen.coord.join();
  CHECK(seen.starts == milliseconds{0ms});
  CHECK(seen.calls.empty());
  CHECK(seen.stops == milliseconds{0ms});
}

LEAT_TEST("looper: if a stop ends the wait of start_loop, stop_loop does not run") {
  for (const bool completes : {false, true}) {
    diary seen;
    leat::looper_options options = hooks(seen, 100ms);
    options.start_loop = [&seen, completes]() -> task<> {
      try {
        co_await leat::sleep_for(1h);
      } catch (const leat::failure&) {
        if (!completes) throw;
      }
      seen.note(seen.starts);
    };
    seen.coord.spawn(leat::looper(body{seen, 5}, options));
    co_await leat::sleep_for(7ms);
    seen.coord.request_stop();
    co_await seen.coord.join();
    CHECK(seen.starts == (completes ? milliseconds{7ms} : milliseconds()));
    CHECK(seen.calls.empty());
    CHECK(seen.stops == seen.starts);
  }
}

LEAT_TEST("looper: a stop during the interval ends it at once") {
  diary seen;
  seen.coord.spawn(leat::looper(body{seen, 100}, hooks(seen, 10s)));
  co_await leat::sleep_for(1s);
  seen.coord.request_stop();
  co_await seen.coord.join();
  CHECK(seen.calls == milliseconds{0ms});
  CHECK(seen.stops == milliseconds{1000ms});
}

LEAT_TEST("looper: a stop cancels waits of the body, not of stop_loop") {
  diary seen;
  leat::looper_options options = hooks(seen, 10s);
  options.stop_loop = [&seen]() -> task<> {
    co_await leat::sleep_for(5ms);
    seen.note(seen.stops);
  };
  seen.coord.spawn(leat::looper(body{seen, 100, {1h}}, options));
  co_await leat::sleep_for(1s);
  seen.coord.request_stop();
  co_await seen.coord.join();
  CHECK(seen.calls == milliseconds{0ms});
  CHECK(seen.stops == milliseconds{1005ms});
}

// Callables take the place of the functions that a subclass of LooperThread overrides.
LEAT_TEST("looper: runs on schedule in a task group too") {
  diary seen;
  task_group group;
  group.spawn(leat::looper(
      [&seen]() -> task<> {
        seen.note(seen.calls);
        co_return;
      },
      hooks(seen, 1s)));
  co_await leat::sleep_for(2500ms);
  group.request_stop();
  co_await group.join();
  CHECK(seen.calls == milliseconds{0ms, 1000ms, 2000ms});
  CHECK(seen.stops == milliseconds{2500ms});
}

LEAT_TEST("looper: accepts any interval in any unit") {
  leat::coordinator coord;
  int calls = 0;
  const auto call = [&calls] { return task_steps::count(calls); };
  coord.spawn(leat::looper(call, {.interval = std::chrono::seconds::max()}));
  co_await leat::sleep_for(1h);
  coord.request_stop();
  co_await coord.join();
  CHECK(calls == 1);
}

}  // namespace looper_test
