// Coordinators: spawn() keeps bodies and callables alive, and join() stops tasks that do not
// finish.

#include "leat/coordination/coordinator.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "support/leat_test.hpp"

namespace coordinator_spawn_test {

task<> nap(leat::duration d) { co_await leat::sleep_for(d); }

// Sleeps for `d` and ignores every stop request.
task<> stubborn(leat::duration d) {
  task_group g(leat::shielded, "secret");
  g.spawn(nap(d));
  co_await g.join();
}

// Returns the message of the exception that join() throws, or an empty string.
task<std::string> joined(leat::coordinator& c, leat::join_options options) {
  const std::string what = co_await message_of(c.join(options));
  co_return what;
}

LEAT_TEST("with_coordinator: a body that spawns and then throws is joined") {
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
  leat::scheduler& sched = leat::this_task::get_scheduler();
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
  CHECK(co_await takes(10s, false) == 10s);
  CHECK(co_await takes(1h, false) == 30s);
  CHECK(co_await takes(33s, true) == 33s);
  CHECK(co_await takes(40s, true) == 35s);
}

LEAT_TEST("with_coordinator: returns the result of its body") {
  const int result = co_await leat::with_coordinator(
      [&](leat::coordinator& coord) -> task<int> {
        coord.spawn([]() -> task<> { co_await leat::sleep_for(std::chrono::seconds(1)); });
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

template <class Body>
task<std::string> message_of_body(Body body) {
  try {
    static_cast<void>(co_await leat::with_coordinator(std::move(body)));
  } catch (const std::exception& e) {
    co_return e.what();
  }
  co_return "";
}

const std::exception_ptr end_of_lines =
    std::make_exception_ptr(leat::failure(errc::out_of_range, "end of lines"));

LEAT_TEST("with_coordinator: throws the clean error of a body that has no result") {
  const auto later = [](leat::coordinator&) { return throw_after_sleep(end_of_lines); };
  CHECK(co_await message_of_body(later) == "end of lines: out of range");
  const auto at_once = [](leat::coordinator&) -> task<int> {
    std::rethrow_exception(end_of_lines);
  };
  CHECK(co_await message_of_body(at_once) == "end of lines: out of range");
}

LEAT_TEST("with_coordinator: a stopped body names the clean error that stopped it") {
  const auto body = [](leat::coordinator& coord) -> task<int> {
    coord.spawn([]() -> task<> { static_cast<void>(co_await throw_after_sleep(end_of_lines)); });
    co_await leat::sleep_for(std::chrono::hours(1));
    co_return 7;
  };
  const std::string said = co_await message_of_body(body);
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
      const std::string message = co_await message_of_body(body);
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
  task_group outer;
  bool joined = false, asked_to_stop = false;
  outer.spawn([&]() -> task<void> {
    leat::coordinator c;
    c.spawn([]() -> task<void> { co_await leat::sleep_for(1h); }());
    co_await c.join();
    joined = true;
    asked_to_stop = leat::this_task::stop_requested();
  });
  co_await leat::this_task::yield();
  outer.request_stop();
  co_await outer.join();
  CHECK(joined);
  CHECK(asked_to_stop);
}

LEAT_TEST("coordinator: join() throws an error that follows a stop of the task that created it") {
  task_group outer;
  std::string thrown;
  std::size_t secondary = 1;
  outer.spawn([&]() -> task<void> {
    leat::coordinator c;
    c.spawn([]() -> task<void> {
      const auto [ec] = co_await leat::as_tuple(leat::sleep_for(1h));
      if (ec) throw std::runtime_error("clean-up failed");
    }());
    thrown = co_await message_of<std::runtime_error>(c.join());
    secondary = c.secondary_errors().size();
  });
  co_await leat::this_task::yield();
  outer.request_stop();
  co_await outer.join();
  CHECK(thrown == "clean-up failed");
  CHECK(secondary == 0);
}

}  // namespace coordinator_spawn_test
