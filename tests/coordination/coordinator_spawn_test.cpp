// Coordinators: spawn() keeps bodies and callables alive, and join() stops tasks that do not
// finish.

#include "leat/coordination/coordinator.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "async/task_steps.hpp"
#include "support/leat_test.hpp"

namespace coordinator_spawn_test {

using namespace task_steps;

LEAT_TEST("with_coordinator: a body that spawns and then throws is joined") {
  const auto body = [](leat::coordinator& coord) -> task<> {
    coord.spawn(sleep(1h));
    throw std::runtime_error("cannot begin");  // a function, not a coroutine
  };
  CHECK(co_await message_of<std::runtime_error>(leat::with_coordinator(body)) == "cannot begin");
}

LEAT_TEST("coordinator: a callable that was spawned lives until its task has finished") {
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

LEAT_TEST("coordinator: join() with stop_after drains, then stops, then waits for the grace") {
  const auto takes = [](leat::duration work, bool deaf) -> task<leat::duration> {
    leat::coordinator coord;
    if (deaf) {
      coord.spawn(sleep_despite_stop(work), "stubborn");
    } else {
      coord.spawn(sleep(work), "napping");
    }
    const stopwatch time;
    const std::string what = co_await message_of(coord.join({.stop_after = 30s, .grace = 5s}));
    const leat::duration taken = time.elapsed();
    CHECK((what.find("stubborn") != what.npos) == (deaf && work > 35s));
    if (!what.empty()) co_await coord.join({.grace = 1h});
    co_return taken;
  };
  CHECK(co_await takes(10s, false) == 10s);
  CHECK(co_await takes(1h, false) == 30s);
  CHECK(co_await takes(33s, true) == 33s);
  CHECK(co_await takes(40s, true) == 35s);
}

LEAT_TEST("with_coordinator: returns the result of its body") {
  const int result = co_await leat::with_coordinator(
      [&](leat::coordinator& coord) -> task<int> {
        coord.spawn(sleep(1s));
        co_return 7;
      },
      "valued");
  CHECK(result == 7);
}

LEAT_TEST("with_coordinator: a body that was stopped before its result fails with cancelled") {
  CHECK(co_await code_of(leat::with_coordinator([&](leat::coordinator& coord) -> task<int> {
          coord.request_stop();
          co_await leat::sleep_for(std::chrono::seconds(1));
          co_return 7;
        })) == errc::cancelled);
}

task<int> throw_after_sleep(std::exception_ptr error) {
  co_await leat::sleep_for(std::chrono::seconds(1));
  std::rethrow_exception(error);
  co_return 0;
}

const std::exception_ptr end_of_lines =
    std::make_exception_ptr(leat::failure(errc::out_of_range, "end of lines"));

LEAT_TEST("with_coordinator: throws the clean error of a body that has no result") {
  const auto later = [](leat::coordinator&) { return throw_after_sleep(end_of_lines); };
  CHECK(co_await message_of(leat::with_coordinator(later)) == "end of lines: out of range");
  const auto at_once = [](leat::coordinator&) -> task<int> {
    std::rethrow_exception(end_of_lines);
  };
  CHECK(co_await message_of(leat::with_coordinator(at_once)) == "end of lines: out of range");
}

LEAT_TEST("with_coordinator: a stopped body names the clean error that stopped it") {
  const auto body = [](leat::coordinator& coord) -> task<int> {
    coord.spawn([]() -> task<> { static_cast<void>(co_await throw_after_sleep(end_of_lines)); });
    co_await leat::sleep_for(std::chrono::hours(1));
    co_return 7;
  };
  const std::string said = co_await message_of(leat::with_coordinator(body));
  CHECK(said ==
        "with_coordinator(): stopped before its body had returned a result, after \"end of lines: "
        "out of range\": cancelled");
}

TEST_CASE("with_coordinator: throws and does not print the error of a body after a clean stop") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      const auto body = [](leat::coordinator& coord) -> task<int> {
        coord.request_stop();
        throw std::runtime_error("cannot flush");
        co_return 7;
      };
      const std::string message = co_await message_of(leat::with_coordinator(body));
      std::fprintf(stderr, "thrown: %s\n", message.c_str());
    }());
    std::abort();
  });
  CHECK(said == "thrown: cannot flush\n");
}

LEAT_TEST("with_coordinator: returns a result by reference") {
  int value = 7;
  const auto body = [&](leat::coordinator&) -> task<int&> { co_return value; };
  const int& result = co_await leat::with_coordinator(body);
  CHECK(&result == &value);
}

// Returns the text that a coordinator without a join prints. Its task fails with `error`.
std::string printed_by(std::exception_ptr error, void (*last)(leat::coordinator&)) {
  return leat_test::abort_message([=] {
    leat::sim::run([](std::exception_ptr e, void (*use)(leat::coordinator&)) -> task<> {
      leat::coordinator coord("c");
      coord.spawn([](std::exception_ptr thrown) -> task<> {
        static_cast<void>(co_await throw_after_sleep(thrown));
      }(e));
      co_await leat::sleep_for(std::chrono::seconds(2));
      use(coord);
    }(error, last));
    std::fputs("the end\n", stderr);
    std::abort();
  });
}

TEST_CASE("coordinator: prints the error of a task that nothing has asked for") {
  const auto broken = std::make_exception_ptr(std::runtime_error("broken"));
  const auto nothing = [](leat::coordinator&) {};
  const std::string line = "leat: coordinator 'c': unreported error: broken\n";
  CHECK(printed_by(broken, nothing) == line + "the end\n");
  CHECK(printed_by(broken, [](leat::coordinator& c) { c.clear_stop(); }) == line + "the end\n");
  const auto ask = [](leat::coordinator& c) {
    CHECK_THROWS_AS(c.raise_requested_exception(), std::runtime_error);
  };
  CHECK(printed_by(broken, ask) == "the end\n");
  CHECK(printed_by(end_of_lines, nothing) == "the end\n");
  const auto cancelled =
      std::make_exception_ptr(leat::failure(errc::cancelled, "scheduler destroyed"));
  CHECK(printed_by(cancelled, nothing) == "the end\n");
}

LEAT_TEST("coordinator: join() returns normally after a stop of the task that created it") {
  bool joined = false, asked_to_stop = false;
  const auto body = [&]() -> task<void> {
    leat::coordinator c;
    c.spawn(sleep_long());
    co_await c.join();
    joined = true;
    asked_to_stop = leat::this_task::stop_requested();
  };
  co_await run_and_stop(body());
  CHECK(joined);
  CHECK(asked_to_stop);
}

LEAT_TEST("coordinator: join() throws an error that follows a stop of the task that created it") {
  std::string thrown;
  std::size_t secondary = 1;
  const auto body = [&]() -> task<void> {
    leat::coordinator c;
    c.spawn(fail_when_stopped<void>("clean-up failed"));
    thrown = co_await message_of<std::runtime_error>(c.join());
    secondary = c.secondary_errors().size();
  };
  co_await run_and_stop(body());
  CHECK(thrown == "clean-up failed");
  CHECK(secondary == 0);
}

}  // namespace coordinator_spawn_test
