#include "leat/coordination/coordinator.hpp"

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "leat/async/loop/sync_wait.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace coordinator_test {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;

task<> nap(leat::duration d) { co_await leat::sleep_for(d); }

task<> fail_after(leat::duration d, std::string what) {
  co_await leat::sleep_for(d);
  throw std::runtime_error(what);
}

task<> end_of_input() {
  co_await leat::this_task::yield();
  throw leat::failure(errc::out_of_range, "no more");
}

task<> stop_after(leat::coordinator& c, leat::duration d) {
  co_await leat::sleep_for(d);
  c.request_stop();
}

// Sleeps for `d` and ignores every stop request: it joins a shielded group.
task<> stubborn(leat::duration d) {
  leat::task_group g(leat::shielded, "secret");
  g.spawn(nap(d));
  co_await g.join();
}

task<> pop_forever(leat::fifo_queue<int>& q) { co_await q.pop(); }

// Returns the message of the exception that join() throws, or an empty string.
task<std::string> joined(leat::coordinator& c, leat::join_options options = {}) {
  std::string what;
  try {
    co_await c.join(options);
  } catch (const std::exception& e) {
    what = e.what();
  }
  co_return what;
}

LEAT_TEST("with_coordinator: the tasks and threads of the body have ended when it returns",
          "[coordination]") {
  int ended = 0;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> task<> {
    for (int i = 0; i < 3; ++i) {
      coord.spawn([](int& n) -> task<> {
        co_await leat::sleep_for(1s);
        ++n;
      }(ended));
    }
    co_return;
  });
  CHECK(ended == 3);
}

LEAT_TEST("with_coordinator: an error of the body stops the tasks and is thrown",
          "[coordination]") {
  bool stopped = false;
  std::string what;
  try {
    co_await leat::with_coordinator(
        [&](leat::coordinator& coord) -> task<> {
          coord.spawn([](leat::coordinator& c, bool& seen) -> task<> {
            seen = co_await c.wait_for_stop();
          }(coord, stopped));
          co_await leat::sleep_for(1ms);
          throw leat::failure(errc::data_loss, "broken");
        },
        "scope");
  } catch (const leat::failure& e) {
    what = e.what();
  }
  CHECK(stopped);
  CHECK(what.find("broken") == 0);
}

LEAT_TEST("with_coordinator: an error of a task stops the body", "[coordination]") {
  bool reached = false;
  std::string what;
  try {
    co_await leat::with_coordinator([&](leat::coordinator& coord) -> task<> {
      coord.spawn([]() -> task<> {
        co_await leat::sleep_for(1ms);
        throw leat::failure(errc::aborted, "task");
      }());
      co_await leat::sleep_for(1h);
      reached = true;
    });
  } catch (const leat::failure& e) {
    what = e.what();
  }
  CHECK_FALSE(reached);
  CHECK(what.find("task") == 0);
}

LEAT_TEST("with_coordinator: waits for stragglers and then throws stragglers_error",
          "[coordination]") {
  bool ended = false;
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  const leat::coordinator_options options{.name = "scope"};
  const leat::join_options joining{.grace = 1s};
  std::string what;
  try {
    co_await leat::with_coordinator(
        [&](leat::coordinator& coord) -> task<> {
          coord.spawn(
              [](bool& done) -> task<> {
                leat::task_group inner(leat::shielded, "inner");
                inner.spawn([]() -> task<> { co_await leat::sleep_for(10s); }());
                co_await inner.join();
                done = true;
              }(ended),
              "slow");
          coord.request_stop();
          co_return;
        },
        options, joining);
  } catch (const leat::stragglers_error& e) {
    what = e.what();
  }
  CHECK(ended);
  CHECK(sched.now() - begin == 10s);
  CHECK(what.find("slow") != std::string::npos);
}

LEAT_TEST("coordinator: a new one has no stop request", "[coordination]") {
  leat::coordinator c;
  CHECK_FALSE(c.should_stop());
  const bool stopped = co_await c.wait_for_stop(10ms);
  CHECK_FALSE(stopped);
  c.request_stop();
  CHECK(c.should_stop());
  const bool again = co_await c.wait_for_stop(10ms);
  CHECK(again);
}

LEAT_TEST("coordinator: wait_for_stop ends with the request", "[coordination]") {
  leat::coordinator c;
  c.spawn(stop_after(c, 20ms));
  leat::scheduler& s = leat::this_task::get_scheduler();
  const auto begin = s.now();
  const bool early = co_await c.wait_for_stop(10ms);
  CHECK_FALSE(early);
  const bool stopped = co_await c.wait_for_stop();
  CHECK(stopped);
  CHECK(s.now() - begin == 20ms);
  co_await c.join();
}

LEAT_TEST("coordinator: the first error stops the other tasks and is thrown", "[coordination]") {
  leat::coordinator c;
  c.spawn(nap(10h));
  c.spawn(fail_after(10ms, "First"));
  c.spawn(fail_after(20ms, "Too late"));
  const std::string what = co_await joined(c);
  CHECK(what == "First");
  const std::string again = co_await joined(c);
  CHECK(again == "First");
}

LEAT_TEST("coordinator: a clean error is a stop without an error", "[coordination]") {
  leat::coordinator c;
  c.spawn(end_of_input());
  c.spawn(nap(10h));
  const std::string what = co_await joined(c);
  CHECK(what.empty());
  CHECK(c.should_stop());
}

LEAT_TEST("coordinator: without clean types, every error is thrown", "[coordination]") {
  leat::coordinator c({.clean_stop_errors = {}});
  c.spawn(end_of_input());
  const std::string what = co_await joined(c);
  CHECK(what.find("no more") != std::string::npos);
}

LEAT_TEST("coordinator: errors after the first request are secondary", "[coordination]") {
  leat::coordinator c;
  c.request_stop();
  c.request_stop(std::make_exception_ptr(std::runtime_error("late")));
  const std::string what = co_await joined(c);
  CHECK(what.empty());
  CHECK(c.secondary_errors().size() == 1);
}

TEST_CASE("coordinator: prints unread secondary errors once", "[coordination]") {
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

LEAT_TEST("coordinator: an error after join() is thrown to the caller of request_stop()",
          "[coordination]") {
  leat::coordinator c;
  co_await c.join();
  CHECK_THROWS_AS(c.request_stop(std::make_exception_ptr(std::runtime_error("late"))),
                  std::runtime_error);
  CHECK_FALSE(c.should_stop());
  c.request_stop();
  CHECK(c.should_stop());
}

LEAT_TEST("coordinator: clear_stop() resets it", "[coordination]") {
  leat::coordinator c;
  c.spawn(fail_after(1ms, "First"));
  std::string what = co_await joined(c);
  CHECK(what == "First");
  c.clear_stop();
  CHECK_FALSE(c.should_stop());
  CHECK_FALSE(c.joined());
  c.spawn(fail_after(1ms, "Second"));
  what = co_await joined(c);
  CHECK(what == "Second");
}

LEAT_TEST("coordinator: stragglers_error names each straggler with its wait and location",
          "[coordination]") {
  leat::coordinator c("training");
  leat::scheduler& s = leat::this_task::get_scheduler();
  c.spawn(stubborn(10s), "straggler");
  c.request_stop();
  const auto begin = s.now();
  const std::string what = co_await joined(c, {.grace = 1s});
  CHECK(s.now() - begin >= 1s);
  CHECK(s.now() - begin < 2s);
  CHECK(what.find("still running") != std::string::npos);
  CHECK(what.find("straggler") != std::string::npos);
  CHECK(what.find("training") != std::string::npos);
  CHECK(what.find("join task group 'secret'") != std::string::npos);
  CHECK(what.find("coordinator_test.cpp:") != std::string::npos);
  co_await c.join({.grace = 20s, .stragglers = leat::straggler_policy::report});
}

LEAT_TEST("coordinator: stragglers can be ignored", "[coordination]") {
  leat::coordinator c;
  c.spawn(stubborn(10s));
  c.request_stop();
  const std::string what =
      co_await joined(c, {.grace = 1s, .stragglers = leat::straggler_policy::report});
  CHECK(what.empty());
  co_await c.join({.grace = 20s});
}

LEAT_TEST("coordinator: a recorded error hides stragglers", "[coordination]") {
  leat::coordinator c;
  c.spawn(stubborn(10s));
  c.request_stop(std::make_exception_ptr(std::runtime_error("boom")));
  const std::string what = co_await joined(c, {.grace = 200ms});
  CHECK(what == "boom");
  const std::string again = co_await joined(c, {.grace = 20s});
  CHECK(again == "boom");
}

LEAT_TEST("coordinator: stragglers are secondary if an error is recorded", "[coordination]") {
  leat::coordinator c;
  c.spawn(stubborn(10s), "late one");
  c.request_stop(std::make_exception_ptr(std::runtime_error("boom")));
  const std::string what = co_await joined(c, {.grace = 200ms});
  CHECK(what == "boom");
  const auto secondary = c.secondary_errors();
  REQUIRE(secondary.size() == 1);
  try {
    std::rethrow_exception(secondary.front());
  } catch (const leat::stragglers_error& e) {
    CHECK(std::string(e.what()).find("late one") != std::string::npos);
  }
  const std::string again = co_await joined(c);
  CHECK(again == "boom");
}

task<> rethrow(std::exception_ptr error) {
  co_await leat::this_task::yield();
  std::rethrow_exception(error);
}

LEAT_TEST("coordinator: keeps one failure once if several tasks throw it", "[coordination]") {
  leat::coordinator c;
  const auto shared = std::make_exception_ptr(std::runtime_error("shared"));
  for (int i = 0; i < 3; ++i) c.spawn(rethrow(shared));
  c.spawn(rethrow(std::make_exception_ptr(std::runtime_error("other"))));
  const std::string what = co_await joined(c);
  CHECK(what == "shared");
  CHECK(c.secondary_errors().size() == 1);
}

// On real time, since it uses a real thread.
TEST_CASE("coordinator: one created in a task is stopped with the task", "[coordination]") {
  struct inside {
    static task<> run(bool& seen, bool& thread_stopped) {
      leat::coordinator c;
      std::jthread elsewhere([&thread_stopped](std::stop_token stop) {
        while (!stop.stop_requested()) std::this_thread::yield();
        thread_stopped = true;
      });
      c.register_thread(std::move(elsewhere), "elsewhere");
      c.spawn(nap(1000h));
      c.spawn(wait_for_stop_of(c, seen));
      co_await c.join();
    }
    static task<> wait_for_stop_of(leat::coordinator& c, bool& seen) {
      seen = co_await c.wait_for_stop();
    }
  };
  bool seen = false;
  bool thread_stopped = false;
  leat::sync_wait([](bool& s, bool& t) -> task<> {
    leat::task_group outer;
    outer.spawn(inside::run(s, t));
    co_await leat::sleep_for(5ms);
    outer.request_stop();
    co_await outer.join();
  }(seen, thread_stopped));
  CHECK(thread_stopped);
}

LEAT_TEST("coordinator: join() in one of its own tasks throws failed_precondition",
          "[coordination]") {
  leat::coordinator c("ring");
  std::string what;
  c.spawn([](leat::coordinator& mine, std::string& said) -> task<> {
    said = co_await joined(mine);
  }(c, what));
  co_await c.join();
  CHECK(what.find("coordinator 'ring': join() in one of its own tasks would never return") !=
        std::string::npos);
}

LEAT_TEST("coordinator: a stop ends the waits of its tasks", "[coordination]") {
  leat::coordinator c;
  leat::fifo_queue<int> q(1);
  c.spawn(pop_forever(q));
  c.spawn(nap(10h));
  c.spawn(stop_after(c, 5ms));
  const std::string what = co_await joined(c);
  CHECK(what.empty());
  CHECK(q.statistics().waiting_pops == 0);
}

LEAT_TEST("coordinator: the recorded error can be thrown several times", "[coordination]") {
  leat::coordinator c;
  CHECK_NOTHROW(c.raise_requested_exception());
  c.request_stop(std::make_exception_ptr(std::runtime_error("boom")));
  CHECK_THROWS_WITH(c.raise_requested_exception(), "boom");
  CHECK_THROWS_WITH(c.raise_requested_exception(), "boom");
  const std::string what = co_await joined(c);
  CHECK(what == "boom");
  c.clear_stop();
  CHECK_NOTHROW(c.raise_requested_exception());
}

LEAT_TEST("coordinator: wait_for_stop is cancelled with the task that waits", "[coordination]") {
  leat::coordinator c;
  leat::task_group g;
  bool cancelled = false;
  g.spawn([](leat::coordinator& of, bool& said) -> task<> {
    try {
      static_cast<void>(co_await of.wait_for_stop());
    } catch (const leat::failure& e) {
      said = e.code() == errc::cancelled;
    }
  }(c, cancelled));
  co_await leat::sleep_for(1ms);
  g.request_stop();
  co_await g.join();
  CHECK(cancelled);
  CHECK_FALSE(c.should_stop());
}

LEAT_TEST("coordinator: `cancelled` without a stop request is an error", "[coordination]") {
  leat::coordinator c;
  c.spawn([]() -> task<> {
    co_await leat::this_task::yield();
    throw leat::failure(errc::cancelled, "by itself");
  }());
  const std::string what = co_await joined(c);
  CHECK(what.find("by itself") != std::string::npos);
}

LEAT_TEST("coordinator: ignores `cancelled` from tasks after a stop", "[coordination]") {
  leat::coordinator c;
  c.spawn(nap(10h));
  c.spawn(nap(10h));
  c.spawn(stop_after(c, 1ms));
  const std::string what = co_await joined(c);
  CHECK(what.empty());
  CHECK(c.secondary_errors().empty());
}

TEST_CASE("coordinator: keeps a later error once if it is requested twice", "[coordination]") {
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

LEAT_TEST("coordinator: a clean error and the recorded error are not secondary", "[coordination]") {
  leat::coordinator c;
  const auto first = std::make_exception_ptr(std::runtime_error("first"));
  c.request_stop(first);
  c.request_stop(first);
  c.request_stop();
  c.request_stop(std::make_exception_ptr(leat::failure(errc::out_of_range, "no more")));
  CHECK(c.secondary_errors().empty());
  const std::string what = co_await joined(c);
  CHECK(what == "first");
}

LEAT_TEST("coordinator: a clean error after join() is not thrown", "[coordination]") {
  leat::coordinator c;
  co_await c.join();
  CHECK_NOTHROW(
      c.request_stop(std::make_exception_ptr(leat::failure(errc::out_of_range, "no more"))));
  CHECK(c.should_stop());
}

LEAT_TEST("coordinator: the grace period starts at the stop request", "[coordination]") {
  leat::coordinator c;
  leat::scheduler& s = leat::this_task::get_scheduler();
  c.spawn(stubborn(10s), "straggler");
  c.spawn(stop_after(c, 3s));
  const auto begin = s.now();
  const std::string what = co_await joined(c, {.grace = 1s});
  CHECK(s.now() - begin == 4s);
  CHECK(what.find("straggler") != std::string::npos);
  co_await c.join({.grace = 20s});
}

LEAT_TEST("coordinator: tasks that end within the grace period are not stragglers",
          "[coordination]") {
  leat::coordinator c;
  leat::scheduler& s = leat::this_task::get_scheduler();
  c.spawn(stubborn(5s));
  c.request_stop();
  const auto begin = s.now();
  const std::string what = co_await joined(c, {.grace = 10s});
  CHECK(what.empty());
  CHECK(s.now() - begin == 5s);
}

TEST_CASE("coordinator: spawn() outside a scheduler ends the process with a message",
          "[coordination]") {
  const std::string said = leat_test::abort_message([] {
    leat::coordinator c;
    c.spawn(nap(1ms));
  });
  CHECK(said.find("coordinator::spawn() outside a scheduler") != said.npos);
}

}  // namespace coordinator_test
