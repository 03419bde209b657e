#include "leat/coordination/coordinator.hpp"

#include <thread>

#include "async/task_steps.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace coordinator_test {

using namespace task_steps;

task<> end_of_input() {
  co_await leat::this_task::yield();
  throw leat::failure(errc::out_of_range, "no more");
}

task<> stop_after(leat::coordinator& c, leat::duration d) {
  co_await leat::sleep_for(d);
  c.request_stop();
}

task<> pop_forever(leat::fifo_queue<int>& q) { co_await q.pop(); }

// Returns the message of the exception that join() throws, or an empty string.
task<std::string> joined(leat::coordinator& c, leat::join_options options = {}) {
  co_return co_await message_of(c.join(options));
}

LEAT_TEST("with_coordinator: the tasks and threads of the body have ended when it returns") {
  int ended = 0;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> task<> {
    for (int i = 0; i < 3; ++i) coord.spawn(count_after(ended, 1s));
    co_return;
  });
  CHECK(ended == 3);
}

LEAT_TEST("with_coordinator: an error of the body stops the tasks and is thrown") {
  bool stopped = false;
  const std::string what = co_await message_of<leat::failure>(leat::with_coordinator(
      [&](leat::coordinator& coord) -> task<> {
        coord.spawn([](leat::coordinator& c, bool& seen) -> task<> {
          seen = co_await c.wait_for_stop();
        }(coord, stopped));
        co_await leat::sleep_for(1ms);
        throw leat::failure(errc::data_loss, "broken");
      },
      "scope"));
  CHECK(stopped);
  CHECK(what.starts_with("broken"));
}

LEAT_TEST("with_coordinator: an error of a task stops the body") {
  bool reached = false;
  const std::string what = co_await message_of<leat::failure>(
      leat::with_coordinator([&](leat::coordinator& coord) -> task<> {
        coord.spawn([]() -> task<> {
          co_await leat::sleep_for(1ms);
          throw leat::failure(errc::aborted, "task");
        }());
        co_await leat::sleep_for(1h);
        reached = true;
      }));
  CHECK_FALSE(reached);
  CHECK(what.starts_with("task"));
}

LEAT_TEST("with_coordinator: waits for stragglers and then throws stragglers_error") {
  bool ended = false;
  const task_steps::stopwatch time;
  const leat::coordinator_options options{.name = "scope"};
  const leat::join_options joining{.grace = 1s};
  const std::string what = co_await message_of<leat::stragglers_error>(leat::with_coordinator(
      [&](leat::coordinator& coord) -> task<> {
        coord.spawn(
            [](bool& done) -> task<> {
              co_await sleep_despite_stop(10s);
              done = true;
            }(ended),
            "slow");
        coord.request_stop();
        co_return;
      },
      options, joining));
  CHECK(ended);
  CHECK(time.elapsed() == 10s);
  CHECK(contains(what, "slow"));
}

LEAT_TEST("coordinator: a new one has no stop request") {
  leat::coordinator c;
  CHECK_FALSE(c.should_stop());
  CHECK_FALSE(co_await c.wait_for_stop(10ms));
  c.request_stop();
  CHECK(c.should_stop());
  CHECK(co_await c.wait_for_stop(10ms));
}

LEAT_TEST("coordinator: wait_for_stop ends with the request") {
  leat::coordinator c;
  c.spawn(stop_after(c, 20ms));
  const task_steps::stopwatch time;
  CHECK_FALSE(co_await c.wait_for_stop(10ms));
  CHECK(co_await c.wait_for_stop());
  CHECK(time.elapsed() == 20ms);
  co_await c.join();
}

LEAT_TEST("coordinator: the first error stops the other tasks and is thrown") {
  leat::coordinator c;
  c.spawn(sleep(10h));
  c.spawn(fail_after<void>("First", 10ms));
  c.spawn(fail_after<void>("Too late", 20ms));
  CHECK(co_await joined(c) == "First");
  CHECK(co_await joined(c) == "First");
}

LEAT_TEST("coordinator: a clean error is a stop without an error") {
  leat::coordinator c;
  c.spawn(end_of_input());
  c.spawn(sleep(10h));
  CHECK(co_await joined(c) == "");
  CHECK(c.should_stop());
}

LEAT_TEST("coordinator: without clean types, every error is thrown") {
  leat::coordinator c({.clean_stop_errors = {}});
  c.spawn(end_of_input());
  CHECK(contains(co_await joined(c), "no more"));
}

TEST_CASE("coordinator: prints unread secondary errors once") {
  const auto said_by = [](bool read) {
    return leat_test::abort_message([read] {
      leat::sim::run([](bool ask) -> task<> {
        leat::coordinator c("c");
        c.request_stop();
        c.request_stop(std::make_exception_ptr(std::runtime_error("late")));
        co_await c.join();
        if (ask) CHECK(c.secondary_errors().size() == 1);
        c.clear_stop();
      }(read));
      std::fputs("the end\n", stderr);
      std::abort();
    });
  };
  CHECK(said_by(true) == "the end\n");
  CHECK(said_by(false) == "leat: coordinator 'c': unreported secondary error: late\nthe end\n");
}

LEAT_TEST("coordinator: an error after join() is thrown to the caller of request_stop()") {
  leat::coordinator c;
  co_await c.join();
  CHECK_THROWS_WITH(c.request_stop(std::make_exception_ptr(std::runtime_error("late"))), "late");
  CHECK_FALSE(c.should_stop());
  c.request_stop();
  CHECK(c.should_stop());
}

LEAT_TEST("coordinator: clear_stop() resets it") {
  leat::coordinator c;
  c.spawn(fail_after<void>("First", 1ms));
  std::string what = co_await joined(c);
  CHECK(what == "First");
  c.clear_stop();
  CHECK_FALSE(c.should_stop());
  CHECK_FALSE(c.joined());
  c.spawn(fail_after<void>("Second", 1ms));
  what = co_await joined(c);
  CHECK(what == "Second");
  CHECK(c.secondary_errors().empty());
}

LEAT_TEST("coordinator: stragglers_error names each straggler with its wait and location") {
  leat::coordinator c("training");
  c.spawn(sleep_despite_stop(10s), "straggler");
  c.request_stop();
  const task_steps::stopwatch time;
  const std::string what = co_await joined(c, {.grace = 1s});
  CHECK(time.elapsed() >= 1s);
  CHECK(time.elapsed() < 2s);
  CHECK(contains(what, "still running"));
  CHECK(contains(what, "straggler"));
  CHECK(contains(what, "training"));
  CHECK(contains(what, "join task group 'deaf'"));
  CHECK(contains(what, "task_steps.hpp:"));
  co_await c.join({.grace = 20s, .stragglers = leat::straggler_policy::report});
}

LEAT_TEST("coordinator: stragglers are secondary if an error is recorded") {
  leat::coordinator c;
  c.spawn(sleep_despite_stop(10s), "late one");
  c.request_stop(std::make_exception_ptr(std::runtime_error("boom")));
  const stopwatch time;
  const std::string what = co_await joined(c, {.grace = 200ms});
  CHECK(what == "boom");
  CHECK(time.elapsed() == 200ms);
  const auto secondary = c.secondary_errors();
  REQUIRE(secondary.size() == 1);
  try {
    std::rethrow_exception(secondary.front());
  } catch (const leat::stragglers_error& e) {
    CHECK(std::string(e.what()).find("late one") != std::string::npos);
  }
  CHECK(co_await joined(c) == "boom");
}

task<> rethrow(std::exception_ptr error) {
  co_await leat::this_task::yield();
  std::rethrow_exception(error);
}

LEAT_TEST("coordinator: keeps one failure once if several tasks throw it") {
  leat::coordinator c;
  const auto shared = std::make_exception_ptr(std::runtime_error("shared"));
  for (int i = 0; i < 3; ++i) c.spawn(rethrow(shared));
  c.spawn(rethrow(std::make_exception_ptr(std::runtime_error("other"))));
  CHECK(co_await joined(c) == "shared");
  CHECK(c.secondary_errors().size() == 1);
}

// On real time, since it uses a real thread.
LEAT_REAL_TIME_TEST("coordinator: one created in a task is stopped with the task") {
  bool thread_stopped = false;
  const auto body = [&]() -> task<> {
    leat::coordinator c;
    std::jthread elsewhere([&](std::stop_token stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
      thread_stopped = true;
    });
    c.register_thread(std::move(elsewhere), "elsewhere");
    c.spawn(sleep_long());
    c.spawn([&]() -> task<> { co_await c.wait_for_stop(); });
    co_await c.join();
  };
  co_await run_and_stop(body());
  CHECK(thread_stopped);
}

LEAT_TEST("coordinator: join() in one of its own tasks throws failed_precondition") {
  leat::coordinator c("ring");
  std::string what;
  c.spawn([](leat::coordinator& mine, std::string& said) -> task<> {
    said = co_await joined(mine);
  }(c, what));
  co_await c.join();
  CHECK(contains(what, "coordinator 'ring': join()"));
}

LEAT_TEST("coordinator: a stop ends the waits of its tasks") {
  leat::coordinator c;
  leat::fifo_queue<int> q(1);
  c.spawn(pop_forever(q));
  c.spawn(sleep(10h));
  c.spawn(stop_after(c, 5ms));
  CHECK(co_await joined(c) == "");
  CHECK(q.statistics().waiting_pops == 0);
}

LEAT_TEST("coordinator: the recorded error can be thrown several times") {
  leat::coordinator c;
  CHECK_NOTHROW(c.raise_requested_exception());
  c.request_stop(std::make_exception_ptr(std::runtime_error("boom")));
  c.request_stop(std::make_exception_ptr(std::runtime_error("b")));
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH(c.raise_requested_exception(), "boom");
  CHECK(c.should_stop());
  CHECK_FALSE(c.joined());
  CHECK(co_await joined(c) == "boom");
  c.clear_stop();
  CHECK_NOTHROW(c.raise_requested_exception());
}

LEAT_TEST("coordinator: wait_for_stop is cancelled with the task that waits") {
  leat::coordinator c;
  std::error_code code;
  const auto body = [&]() -> task<> { code = co_await code_of(c.wait_for_stop()); };
  co_await run_and_stop(body());
  CHECK(code == errc::cancelled);
  CHECK_FALSE(c.should_stop());
}

LEAT_TEST("coordinator: `cancelled` without a stop request is an error") {
  leat::coordinator c;
  c.spawn([]() -> task<> {
    co_await leat::this_task::yield();
    throw leat::failure(errc::cancelled, "by itself");
  }());
  CHECK(contains(co_await joined(c), "by itself"));
}

LEAT_TEST("coordinator: ignores `cancelled` from tasks after a stop") {
  leat::coordinator c;
  c.spawn(sleep(10h));
  c.spawn(sleep(10h));
  c.spawn(stop_after(c, 1ms));
  CHECK(co_await joined(c) == "");
  CHECK(c.secondary_errors().empty());
}

TEST_CASE("coordinator: keeps a later error once if it is requested twice") {
  leat::coordinator c;
  c.request_stop();
  const auto late = std::make_exception_ptr(std::runtime_error("late"));
  c.request_stop(late);
  c.request_stop(late);
  c.request_stop(std::make_exception_ptr(std::runtime_error("other")));
  CHECK(c.secondary_errors().size() == 2);
  c.clear_stop();
  CHECK(c.secondary_errors().empty());
}

LEAT_TEST("coordinator: a clean error and the recorded error are not secondary") {
  leat::coordinator c;
  const auto first = std::make_exception_ptr(std::runtime_error("first"));
  c.request_stop(first);
  c.request_stop(first);
  c.request_stop();
  c.request_stop(std::make_exception_ptr(leat::failure(errc::out_of_range, "no more")));
  CHECK(c.secondary_errors().empty());
  CHECK(co_await joined(c) == "first");
}

LEAT_TEST("coordinator: a clean error after join() is not thrown") {
  leat::coordinator c;
  co_await c.join();
  CHECK_NOTHROW(
      c.request_stop(std::make_exception_ptr(leat::failure(errc::out_of_range, "no more"))));
  CHECK(c.should_stop());
}

LEAT_TEST("coordinator: the grace period starts at the stop request") {
  leat::coordinator c;
  c.spawn(sleep_despite_stop(10s), "straggler");
  c.spawn(stop_after(c, 3s));
  const task_steps::stopwatch time;
  const std::string what = co_await joined(c, {.grace = 1s});
  CHECK(time.elapsed() == 4s);
  CHECK(contains(what, "straggler"));
  co_await c.join({.grace = 20s});
}

LEAT_TEST("coordinator: tasks that end within the grace period are not stragglers") {
  leat::coordinator c;
  c.spawn(sleep_despite_stop(5s));
  c.request_stop();
  const task_steps::stopwatch time;
  CHECK(co_await joined(c, {.grace = 10s}) == "");
  CHECK(time.elapsed() == 5s);
}

TEST_CASE("coordinator: spawn() outside a scheduler ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    leat::coordinator c;
    c.spawn(sleep(1ms));
  });
  CHECK(contains(said, "coordinator::spawn() outside a scheduler"));
}

}  // namespace coordinator_test
