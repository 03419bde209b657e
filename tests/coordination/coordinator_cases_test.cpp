// Where the coordinator behaves like TensorFlow's. One difference: it holds each task or thread
// once, because spawn() takes ownership of a task, and join() takes no tasks.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "leat/async/loop/runtime.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace coordinator_cases_test {

using namespace std::chrono_literals;
using leat::coordinator;
using leat::errc;
using leat::join_options;
using leat::task;

std::exception_ptr error(const std::string& what) {
  return std::make_exception_ptr(std::runtime_error(what));
}
std::exception_ptr end_of_input() {
  return std::make_exception_ptr(leat::failure(errc::out_of_range, "end of input"));
}

struct derived_end : leat::failure {
  derived_end() : leat::failure(errc::out_of_range, "a special end") {}
};

task<> nap(leat::duration d) { co_await leat::sleep_for(d); }

// Sleeps for `d` and ignores every stop request.
task<> deaf(leat::duration d = 10s) {
  leat::task_group g(leat::shielded, "deaf");
  g.spawn(nap(d));
  co_await g.join();
}

task<> report_after(leat::duration d, std::exception_ptr e, coordinator& c) {
  co_await leat::sleep_for(d);
  c.request_stop(e);
}

// The message of the exception that join() throws, or an empty string, and the duration of the
// join.
struct joined {
  std::string what;
  leat::duration after{};
};

task<joined> join(coordinator& c, join_options options) {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  joined j;
  try {
    co_await c.join(options);
  } catch (const std::exception& e) {
    j.what = e.what();
  }
  j.after = sched.now() - begin;
  co_return j;
}

task<joined> join(coordinator& c) { return join(c, join_options()); }

// Joins the tasks that outlived an earlier join on purpose.
task<> join_the_late(coordinator& c) {
  c.clear_stop();
  co_await c.join();
}

LEAT_TEST("coordinator: stop_requested() and a polling wait see the stop", "[coordination]") {
  coordinator c;
  CHECK_FALSE(c.should_stop());
  CHECK_FALSE(co_await c.wait_for_stop(10ms));
  c.request_stop();
  CHECK(c.should_stop());
  CHECK(co_await c.wait_for_stop(10ms));
}

LEAT_TEST("coordinator: the stop request of another task ends a wait", "[coordination]") {
  coordinator c;
  c.spawn(report_after(100ms, nullptr, c));
  CHECK_FALSE(co_await c.wait_for_stop(99ms));
  CHECK(co_await c.wait_for_stop(50ms));
  CHECK(c.should_stop());
  co_await c.join();
}

LEAT_TEST("coordinator: join() waits for the normal end without a stop", "[coordination]") {
  coordinator c;
  for (const leat::duration d : {10ms, 300ms, 10ms}) c.spawn(nap(d));
  const joined j = co_await join(c);
  CHECK(j.what.empty());
  CHECK(j.after == 300ms);
  CHECK(c.live_tasks() == 0);
  CHECK_FALSE(c.should_stop());
  CHECK(c.joined());
}

LEAT_TEST("coordinator: join() names the stragglers after the grace period", "[coordination]") {
  for (const leat::duration grace : {leat::duration(1), leat::duration(1s)}) {
    coordinator c;
    c.spawn(report_after(0ms, nullptr, c));
    c.spawn(deaf(), "t2");
    const joined j = co_await join(c, {.grace = grace});
    CHECK(j.what.find("threads still running") != j.what.npos);
    CHECK(j.what.find("t2") != j.what.npos);
    CHECK(j.after >= grace);
    CHECK(j.after < 2s);
    co_await join_the_late(c);
  }
}

LEAT_TEST("coordinator: join() can ignore stragglers", "[coordination]") {
  coordinator c;
  c.spawn(report_after(0ms, nullptr, c));
  c.spawn(deaf(), "t2");
  const joined j = co_await join(c, {.grace = 1s, .stragglers = leat::straggler_policy::report});
  CHECK(j.what.empty());
  CHECK(j.after == 1s);
  CHECK(c.joined());
  co_await join_the_late(c);
}

TEST_CASE("coordinator: prints ignored stragglers to standard error", "[coordination]") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      coordinator c;
      c.spawn(nap(0ms), "t1");
      c.spawn(deaf(), "t2");
      c.request_stop();
      const joined j =
          co_await join(c, {.grace = 1s, .stragglers = leat::straggler_policy::report});
      if (j.what.empty()) std::fputs("returned\n", stderr);
      std::abort();
    }());
  });
  INFO(said);
  const std::size_t told = said.find("t2: join task group 'deaf'");
  REQUIRE(told != said.npos);
  CHECK(said.find("t1") == said.npos);  // t1 has ended
  CHECK(said.find("returned\n") > told);
}

TEST_CASE("coordinator: prints stragglers and the first error while it waits for them",
          "[coordination]") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      coordinator c("c");
      c.spawn(report_after(0ms, std::make_exception_ptr(std::runtime_error("disk full")), c));
      c.spawn(deaf(), "t2");
      const joined j = co_await join(c, {.grace = 1s, .stragglers = leat::straggler_policy::wait});
      if (j.what == "disk full" && j.after == 10s) std::fputs("thrown at the end\n", stderr);
      std::abort();
    }());
  });
  CHECK(said.find("coordinator 'c': tasks or threads still running") != said.npos);
  CHECK(said.find("t2") != said.npos);
  CHECK(said.find("leat: coordinator 'c': first error, which join() will throw: disk full\n") !=
        said.npos);
  CHECK(said.find("thrown at the end") != said.npos);
}

LEAT_TEST("coordinator: throws the first error", "[coordination]") {
  coordinator c;
  c.spawn(report_after(1ms, error("First"), c));
  c.spawn([]() -> task<> {
    leat::task_group g(leat::shielded);
    g.spawn(nap(2ms));
    co_await g.join();
    throw std::runtime_error("Too late");
  }());
  const joined j = co_await join(c);
  CHECK(j.what == "First");
  CHECK(c.secondary_errors().size() == 1);
}

LEAT_TEST("coordinator: a clean error stops and is not thrown", "[coordination]") {
  coordinator c;
  c.spawn(report_after(1ms, end_of_input(), c));
  const joined j = co_await join(c);
  CHECK(j.what.empty());
  CHECK(c.should_stop());

  coordinator own({.clean_stop_errors = {errc::invalid_argument}});
  own.spawn(report_after(
      1ms, std::make_exception_ptr(leat::failure(errc::invalid_argument, "value")), own));
  const joined k = co_await join(own);
  CHECK(k.what.empty());
}

LEAT_TEST("coordinator: with an empty list no error is clean", "[coordination]") {
  coordinator c({.clean_stop_errors = {}});
  c.request_stop(end_of_input());
  const joined j = co_await join(c);
  CHECK(j.what.find("end of input") != j.what.npos);
}

LEAT_TEST("coordinator: an error derived from a clean one is clean", "[coordination]") {
  coordinator c;
  c.request_stop(std::make_exception_ptr(derived_end()));
  const joined j = co_await join(c);
  CHECK(j.what.empty());
}

LEAT_TEST("coordinator: clear_stop() removes the first error", "[coordination]") {
  coordinator c;
  c.spawn(report_after(1ms, error("First"), c));
  const joined first = co_await join(c);
  CHECK(first.what == "First");
  c.clear_stop();
  c.spawn(report_after(1ms, error("Second"), c));
  const joined second = co_await join(c);
  CHECK(second.what == "Second");
  CHECK(c.secondary_errors().empty());
}

LEAT_TEST("coordinator: after join(), errors are thrown to the caller of request_stop()",
          "[coordination]") {
  coordinator c;
  co_await c.join();
  CHECK_THROWS_WITH(c.request_stop(error("Too late")), "Too late");
  CHECK_FALSE(c.should_stop());
  c.request_stop(end_of_input());
  CHECK(c.should_stop());
}

LEAT_TEST("coordinator: after clear_stop(), errors are recorded again", "[coordination]") {
  coordinator c;
  co_await c.join();
  c.clear_stop();
  CHECK_FALSE(c.joined());
  c.request_stop(error("After clear"));
  const joined j = co_await join(c);
  CHECK(j.what == "After clear");
}

LEAT_TEST("coordinator: errors after a clean stop are secondary", "[coordination]") {
  coordinator c;
  c.request_stop(end_of_input());
  c.request_stop(error("late"));
  const joined j = co_await join(c);
  CHECK(j.what.empty());
  CHECK(c.secondary_errors().size() == 1);
}

LEAT_TEST("coordinator: throws the recorded error on every call", "[coordination]") {
  coordinator c;
  c.request_stop(error("a"));
  c.request_stop(error("b"));
  for (int i = 0; i < 2; ++i) CHECK_THROWS_WITH(c.raise_requested_exception(), "a");
  CHECK(c.should_stop());
  CHECK_FALSE(c.joined());
  for (int i = 0; i < 2; ++i) {
    const joined j = co_await join(c);
    CHECK(j.what == "a");
  }
}

LEAT_TEST("coordinator: throws a recorded error rather than stragglers_error", "[coordination]") {
  coordinator c;
  c.spawn(deaf());
  c.request_stop(error("boom"));
  const joined j = co_await join(c, {.grace = 200ms});
  CHECK(j.what == "boom");
  CHECK(j.after == 200ms);
  co_await join_the_late(c);
}

LEAT_TEST("coordinator: a negative grace period is zero", "[coordination]") {
  coordinator c;
  c.spawn(deaf());
  c.request_stop();
  const joined j = co_await join(c, {.grace = -1s});
  CHECK(j.what.find("still running") != j.what.npos);
  CHECK(j.after == 0ms);
  co_await join_the_late(c);
}

LEAT_TEST("coordinator: join() throws an error that occurs while it waits", "[coordination]") {
  coordinator c;
  c.spawn(nap(10h));
  c.spawn(report_after(200ms, error("late"), c));
  const joined j = co_await join(c);
  CHECK(j.what == "late");
  CHECK(j.after == 200ms);
}

LEAT_TEST("coordinator: stop_on_exception() of a successful body requests no stop",
          "[coordination]") {
  coordinator c;
  CHECK(c.stop_on_exception([] {}));
  CHECK(co_await c.stop_on_exception(nap(1ms)));
  CHECK_FALSE(c.should_stop());
}

LEAT_TEST("coordinator: an exception in stop_on_exception() requests a stop", "[coordination]") {
  for (const bool waits : {false, true}) {
    coordinator c;
    if (waits) {
      const std::string what = "x";
      const bool well = co_await c.stop_on_exception([&what]() -> task<> {
        co_await leat::sleep_for(1ms);
        throw std::runtime_error(what);
      });
      CHECK_FALSE(well);
    } else {
      CHECK_FALSE(c.stop_on_exception([] { throw std::runtime_error("x"); }));
    }
    CHECK(c.should_stop());
    const joined j = co_await join(c);
    CHECK(j.what == "x");
  }
}

LEAT_TEST("coordinator: a clean error in stop_on_exception() requests a stop and is not thrown",
          "[coordination]") {
  coordinator c;
  CHECK_FALSE(c.stop_on_exception([] { std::rethrow_exception(end_of_input()); }));
  CHECK(c.should_stop());
  const joined j = co_await join(c);
  CHECK(j.what.empty());
}

LEAT_TEST("coordinator: a body that the stop cancels is not an error", "[coordination]") {
  coordinator c;
  leat::fifo_queue<int> q(1);
  c.spawn([](coordinator& coord, leat::fifo_queue<int>& queue) -> task<> {
    const bool well = co_await coord.stop_on_exception(
        [&queue]() -> task<> { static_cast<void>(co_await queue.pop()); });
    CHECK_FALSE(well);
  }(c, q));
  c.spawn(report_after(1ms, nullptr, c));
  co_await c.join();
  CHECK(c.secondary_errors().empty());
}

LEAT_TEST("coordinator: stop_on_exception() throws the error after join()", "[coordination]") {
  coordinator c;
  co_await c.join();
  CHECK_THROWS_WITH(c.stop_on_exception([] { throw std::runtime_error("k"); }), "k");
  CHECK_THROWS_WITH(co_await c.stop_on_exception([]() -> task<> {
    co_await leat::sleep_for(1ms);
    throw std::runtime_error("k");
  }),
                    "k");
}

LEAT_TEST("coordinator: a wait with a limit of zero or less polls", "[coordination]") {
  coordinator c;
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  CHECK_FALSE(co_await c.wait_for_stop(0s));
  CHECK_FALSE(co_await c.wait_for_stop(-5s));
  CHECK(sched.now() == begin);
}

TEST_CASE("coordinator: any number of tasks and threads can wait for the stop", "[coordination]") {
  leat::runtime rt({.threads = 2});
  coordinator c;
  std::vector<std::jthread> threads;
  std::atomic<int> woken = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { woken += c.block_for_stop() ? 1 : 0; });
    c.spawn_on(rt.get_scheduler(static_cast<std::size_t>(i % 2)),
               [](coordinator& coord, std::atomic<int>& count) -> task<> {
                 const bool stopped = co_await coord.wait_for_stop();
                 count += stopped ? 1 : 0;
               }(c, woken));
  }
  c.request_stop();
  c.wait_join();
  threads.clear();
  CHECK(woken == 8);
}

LEAT_TEST("coordinator: join() waits for a task that is spawned while it waits", "[coordination]") {
  coordinator c;
  c.spawn([](coordinator& coord) -> task<> {
    co_await leat::sleep_for(1ms);
    coord.spawn(nap(1s), "later");
  }(c));
  const joined j = co_await join(c);
  CHECK(j.after == 1ms + 1s);
}

}  // namespace coordinator_cases_test
