// Where the coordinator behaves like TensorFlow's. One difference: it holds each task or thread
// once, because spawn() takes ownership of a task, and join() takes no tasks.

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>

#include "async/task_steps.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace coordinator_cases_test {

using namespace task_steps;
using leat::coordinator;
using leat::join_options;

std::exception_ptr error(const std::string& what) {
  return std::make_exception_ptr(std::runtime_error(what));
}
std::exception_ptr end_of_input() {
  return std::make_exception_ptr(leat::failure(errc::out_of_range, "end of input"));
}

struct derived_end : leat::failure {
  derived_end() : leat::failure(errc::out_of_range, "a special end") {}
};

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
  const task_steps::stopwatch time;
  joined j;
  j.what = co_await message_of(c.join(options));
  j.after = time.elapsed();
  co_return j;
}

task<joined> join(coordinator& c) { return join(c, join_options()); }

// Joins the tasks that outlived an earlier join on purpose.
task<> join_the_late(coordinator& c) {
  c.clear_stop();
  co_await c.join();
}

LEAT_TEST("coordinator: the stop request of another task ends a wait") {
  coordinator c;
  c.spawn(report_after(100ms, nullptr, c));
  CHECK_FALSE(co_await c.wait_for_stop(99ms));
  CHECK(co_await c.wait_for_stop(50ms));
  CHECK(c.should_stop());
  co_await c.join();
}

LEAT_TEST("coordinator: join() waits for the normal end without a stop") {
  coordinator c;
  for (const leat::duration d : {10ms, 300ms, 10ms}) c.spawn(sleep(d));
  const joined j = co_await join(c);
  CHECK(j.what.empty());
  CHECK(j.after == 300ms);
  CHECK(c.live_tasks() == 0);
  CHECK_FALSE(c.should_stop());
  CHECK(c.joined());
}

LEAT_TEST("coordinator: join() names the stragglers after the grace period") {
  for (const leat::duration grace : {leat::duration(1), leat::duration(1s)}) {
    coordinator c;
    c.spawn(report_after(0ms, nullptr, c));
    c.spawn(sleep_despite_stop(10s), "t2");
    const joined j = co_await join(c, {.grace = grace});
    CHECK(contains(j.what, "threads still running"));
    CHECK(contains(j.what, "t2"));
    CHECK(j.after >= grace);
    CHECK(j.after < 2s);
    co_await join_the_late(c);
  }
}

LEAT_TEST("coordinator: join() can ignore stragglers") {
  coordinator c;
  c.spawn(report_after(0ms, nullptr, c));
  c.spawn(sleep_despite_stop(10s), "t2");
  const joined j = co_await join(c, {.grace = 1s, .stragglers = leat::straggler_policy::report});
  CHECK(j.what.empty());
  CHECK(j.after == 1s);
  CHECK(c.joined());
  co_await join_the_late(c);
}

TEST_CASE("coordinator: prints ignored stragglers to standard error") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      coordinator c;
      c.spawn(sleep(0ms), "t1");
      c.spawn(sleep_despite_stop(10s), "t2");
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
  CHECK_FALSE(contains(said, "t1"));  // t1 has ended
  CHECK(said.find("returned\n") > told);
}

TEST_CASE("coordinator: prints stragglers and the first error while it waits for them") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::run([]() -> task<> {
      coordinator c("c");
      c.spawn(report_after(0ms, std::make_exception_ptr(std::runtime_error("disk full")), c));
      c.spawn(sleep_despite_stop(10s), "t2");
      const joined j = co_await join(c, {.grace = 1s, .stragglers = leat::straggler_policy::wait});
      if (j.what == "disk full" && j.after == 10s) std::fputs("thrown at the end\n", stderr);
      std::abort();
    }());
  });
  CHECK(contains(said, "coordinator 'c': tasks or threads still running"));
  CHECK(contains(said, "t2"));
  CHECK(contains(said, "leat: coordinator 'c': first error, which join() will throw: disk full\n"));
  CHECK(contains(said, "thrown at the end"));
}

LEAT_TEST("coordinator: throws the first error") {
  coordinator c;
  c.spawn(report_after(1ms, error("First"), c));
  c.spawn([]() -> task<> {
    co_await sleep_despite_stop(2ms);
    throw std::runtime_error("Too late");
  }());
  CHECK((co_await join(c)).what == "First");
  CHECK(c.secondary_errors().size() == 1);
}

LEAT_TEST("coordinator: a clean error stops and is not thrown") {
  coordinator c;
  c.spawn(report_after(1ms, end_of_input(), c));
  CHECK((co_await join(c)).what == "");
  CHECK(c.should_stop());

  coordinator own({.clean_stop_errors = {errc::invalid_argument}});
  own.spawn(report_after(
      1ms, std::make_exception_ptr(leat::failure(errc::invalid_argument, "value")), own));
  CHECK((co_await join(own)).what == "");
}

LEAT_TEST("coordinator: an error derived from a clean one is clean") {
  coordinator c;
  c.request_stop(std::make_exception_ptr(derived_end()));
  CHECK((co_await join(c)).what == "");
}

LEAT_TEST("coordinator: after clear_stop(), errors are recorded again") {
  coordinator c;
  co_await c.join();
  c.clear_stop();
  CHECK_FALSE(c.joined());
  c.request_stop(error("After clear"));
  CHECK((co_await join(c)).what == "After clear");
}

LEAT_TEST("coordinator: errors after a clean stop are secondary") {
  coordinator c;
  c.request_stop(end_of_input());
  c.request_stop(error("late"));
  CHECK((co_await join(c)).what == "");
  CHECK(c.secondary_errors().size() == 1);
}

LEAT_TEST("coordinator: a negative grace period is zero") {
  coordinator c;
  c.spawn(sleep_despite_stop(10s));
  c.request_stop();
  const joined j = co_await join(c, {.grace = -1s});
  CHECK(contains(j.what, "still running"));
  CHECK(j.after == 0ms);
  co_await join_the_late(c);
}

LEAT_TEST("coordinator: join() throws an error that occurs while it waits") {
  coordinator c;
  c.spawn(sleep(10h));
  c.spawn(report_after(200ms, error("late"), c));
  const joined j = co_await join(c);
  CHECK(j.what == "late");
  CHECK(j.after == 200ms);
}

LEAT_TEST("coordinator: stop_on_exception() of a successful body requests no stop") {
  coordinator c;
  CHECK(c.stop_on_exception([] {}));
  CHECK(co_await c.stop_on_exception(sleep(1ms)));
  CHECK_FALSE(c.should_stop());
}

LEAT_TEST("coordinator: an exception in stop_on_exception() requests a stop") {
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
    CHECK((co_await join(c)).what == "x");
  }
}

LEAT_TEST("coordinator: a clean error in stop_on_exception() requests a stop and is not thrown") {
  coordinator c;
  CHECK_FALSE(c.stop_on_exception([] { std::rethrow_exception(end_of_input()); }));
  CHECK(c.should_stop());
  CHECK((co_await join(c)).what == "");
}

LEAT_TEST("coordinator: a body that the stop cancels is not an error") {
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

LEAT_TEST("coordinator: stop_on_exception() throws the error after join()") {
  coordinator c;
  co_await c.join();
  CHECK_THROWS_WITH(c.stop_on_exception([] { throw std::runtime_error("k"); }), "k");
  CHECK_THROWS_WITH(co_await c.stop_on_exception([]() -> task<> {
    co_await leat::sleep_for(1ms);
    throw std::runtime_error("k");
  }),
                    "k");
}

LEAT_TEST("coordinator: a wait with a limit of zero or less polls") {
  coordinator c;
  const task_steps::stopwatch time;
  CHECK_FALSE(co_await c.wait_for_stop(0s));
  CHECK_FALSE(co_await c.wait_for_stop(-5s));
  CHECK(time.elapsed() == 0s);
}

TEST_CASE("coordinator: any number of tasks and threads can wait for the stop") {
  leat::runtime rt({.threads = 2});
  coordinator c;
  std::vector<std::jthread> threads;
  std::atomic<int> woken = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { woken += leat::block_on(c.wait_for_stop()) ? 1 : 0; });
    c.spawn_on(rt.get_scheduler(static_cast<std::size_t>(i % 2)),
               [](coordinator& coord, std::atomic<int>& count) -> task<> {
                 const bool stopped = co_await coord.wait_for_stop();
                 count += stopped ? 1 : 0;
               }(c, woken));
  }
  c.request_stop();
  leat::block_on(c.join());
  threads.clear();
  CHECK(woken == 8);
}

LEAT_TEST("coordinator: join() waits for a task that is spawned while it waits") {
  coordinator c;
  c.spawn([](coordinator& coord) -> task<> {
    co_await leat::sleep_for(1ms);
    coord.spawn(sleep(1s), "later");
  }(c));
  CHECK((co_await join(c)).after == 1ms + 1s);
}

}  // namespace coordinator_cases_test
