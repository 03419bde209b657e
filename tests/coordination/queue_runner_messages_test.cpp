// Messages about queue runners and about operations that wait for them.

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "coordination/runner_steps.hpp"
#include "leat/coordination.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace queue_runner_messages_test {

using namespace runner_steps;

const std::string never_started = ", with a queue_runner that was never started";

LEAT_TEST("queue_runner: a wait on its queue reports that it was never started") {
  number_queue q(4, "lines");
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([&] { return count(n, 3); });
  task_group consumers;
  consumers.spawn(pop(q));
  co_await leat::this_task::yield();
  const std::string text = leat_test::dump();
  INFO(text);
  CHECK(contains(text, "pop from queue 'lines' (0 of 4)" + never_started));
  const std::string late = co_await message_of(leat::with_timeout(q.pop(), 1s));
  CHECK(contains(late, never_started));

  task_group group;
  runner.start(group);
  const std::string started = leat_test::dump();
  CHECK(contains(started, "pop from queue 'lines' (0 of 4), at"));
  co_await group.join();
  co_await consumers.join();
}

LEAT_TEST("queue_runner: a wait reports a second runner that was never started") {
  number_queue q(4, "lines");
  int n = 0;
  leat::queue_runner one(q);
  leat::queue_runner two(q);
  one.add([&] { return count(n, 30); });
  two.add([&] { return count(n, 30); });
  task_group group;
  one.start(group);
  task_group consumers;
  consumers.spawn(pop(q));
  co_await leat::this_task::yield();
  std::string text = leat_test::dump();
  CHECK(contains(text, never_started));
  two.start(group);
  text = leat_test::dump();
  CHECK_FALSE(contains(text, never_started));
  co_await group.join();
  co_await consumers.join();
}

LEAT_TEST("queue_runner: a wait does not report a destroyed runner") {
  number_queue q(4, "lines");
  task_group consumers;
  consumers.spawn(pop(q));
  co_await leat::this_task::yield();
  {
    const leat::queue_runner dropped(q);
    CHECK(leat_test::dump().find(never_started) != std::string::npos);
  }
  CHECK(leat_test::dump().find(never_started) == std::string::npos);
  q.close();
  co_await consumers.join();
}

TEST_CASE("queue_runner: destroying its queue first ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    auto q = std::make_unique<number_queue>(4, "lines");
    const leat::queue_runner runner(*q);
    q.reset();
  });
  CHECK(contains(said, "queue destroyed before a queue_runner that fills it"));
}

TEST_CASE("queue_runner: a simulation that is stuck without a start reports the missing start") {
  std::string what;
  number_queue q(4, "lines");
  leat::queue_runner runner(q);
  try {
    leat::sim::run(pop(q));
  } catch (const leat::sim::deadlock& e) {
    what = e.what();
  }
  CHECK(contains(what, "pop from queue 'lines' (0 of 4)" + never_started));
}

TEST_CASE("dump: reports that a thread waits for a queue_runner that was never started") {
  number_queue q(4, "lines");
  leat::queue_runner runner(q);
  leat::coordinator coord;
  coord.start_thread("trainer", [&q](const std::stop_token&) { leat::block_on(q.pop()); });
  while (q.statistics().waiting_pops == 0) std::this_thread::yield();
  const std::string text = leat_test::dump();
  INFO(text);
  CHECK(contains(text, "thread trainer: pop from queue 'lines' (0 of 4)" + never_started));
  coord.request_stop();
  leat::block_on(coord.join());
}

// Returns the text that a join of 256 producers with this step writes to standard error.
template <class Step>
std::string said_by_256(Step step) {
  return leat_test::abort_message([step] {
    leat::sim::run([](Step each) -> task<> {
      number_queue q(4, "lines");
      leat::queue_runner runner(q);
      for (int i = 0; i < 256; ++i) {
        runner.add([&q, each, i] { return each(q, i); });
      }
      leat::coordinator coord("c");
      runner.start(coord);
      const std::string what = co_await message_of([](leat::coordinator& c) -> task<> {
        co_await leat::sleep_for(2s);
        c.request_stop();
        co_await c.join();
      }(coord));
      std::fprintf(stderr, "thrown: %s\n", what.c_str());
      coord.clear_stop();
    }(step));
    std::abort();
  });
}

task<bool> push_one_item(number_queue& q, int i) { co_return co_await q.push(int{i}); }

task<bool> push_a_run(number_queue& q, int i) {
  std::vector<int> run(7, i);
  const std::size_t in = co_await q.push_many(run);
  co_return in == run.size();
}

// The last producer fails when all others wait.
template <auto Step>
task<bool> fail_or(number_queue& q, int i) {
  if (i < 255) return Step(q, i);
  return [](std::string what) -> task<bool> {
    co_await leat::sleep_for(1s);
    throw std::runtime_error(what);
  }("disk full");
}

TEST_CASE("queue_runner: reports one error if one of 256 operations fails") {
  CHECK(said_by_256(&fail_or<&push_one_item>) == "thrown: disk full\n");
  CHECK(said_by_256(&fail_or<&push_a_run>) == "thrown: disk full\n");
}

TEST_CASE("queue_runner: prints nothing after a normal end") {
  CHECK(said_by_256(&push_one_item) == "thrown: \n");
  CHECK(said_by_256(&push_a_run) == "thrown: \n");
  CHECK(said_by_256([](number_queue&, int) -> task<bool> { co_return false; }) == "thrown: \n");
}

LEAT_TEST("coordinator: a partial push after a failure elsewhere is reported as that failure") {
  for (const bool own_scope : {false, true}) {
    number_queue q(4, "lines");
    leat::coordinator coord;
    const auto push_runs = [](number_queue& to) -> task<> { co_await push_a_run(to, 1); };
    if (own_scope) {
      coord.spawn([](leat::coordinator& c, task<> t) -> task<> {
        co_await c.stop_on_exception(std::move(t));
      }(coord, push_runs(q)));
    } else {
      coord.spawn(push_runs(q));
    }
    co_await leat::this_task::yield();
    co_await leat::this_task::yield();
    CHECK(q.size() == 4);
    q.fail(std::make_exception_ptr(std::runtime_error("disk full")));
    CHECK(co_await message_of(coord.join()) == "disk full");
    CHECK(coord.secondary_errors().empty());
  }
}

LEAT_TEST("queue_runner: a partial push passes on the failure that caused it") {
  number_queue failed(4, "failed");
  number_queue q(4, "lines");
  leat::queue_runner runner(q);
  runner.add([&] { return push_a_run(failed, 1); });
  task_group group;
  runner.start(group);
  co_await leat::this_task::yield();
  co_await leat::this_task::yield();
  failed.fail(std::make_exception_ptr(std::runtime_error("disk full")));
  const std::string joined = co_await message_of(group.join());
  CHECK(contains(joined, "4 of 7 done"));  // the result of this push
  CHECK(co_await message_of(q.pop()) == "disk full");
}

TEST_CASE("coordinator: ignores `cancelled` from threads after a stop") {
  number_queue q(1, "lines");
  leat::coordinator coord;
  for (int i = 0; i < 4; ++i) {
    coord.start_thread("producer", [&q](const std::stop_token&) {
      while (leat::block_on(q.push(1))) {
      }
    });
  }
  while (q.statistics().waiting_pushes < 4) std::this_thread::yield();
  coord.request_stop(std::make_exception_ptr(std::runtime_error("disk full")));
  q.close_and_cancel();
  CHECK_THROWS_WITH(leat::block_on(coord.join()), "disk full");
  CHECK(coord.secondary_errors().empty());
}

LEAT_TEST("queue_runner: throws the only error that is not clean") {
  leat::fifo_queue<int> q(1);
  leat::queue_runner runner(q, {.queue_closed_errors = {errc::aborted}});
  for (const errc e : {errc::invalid_argument, errc::cancelled, errc::out_of_range}) {
    runner.add([e]() -> task<bool> { throw leat::failure(e, "end"); });
  }
  leat::coordinator coord({.clean_stop_errors = {errc::cancelled, errc::out_of_range}});
  runner.start(coord);
  CHECK(co_await code_of(coord.join()) == errc::invalid_argument);
}

}  // namespace queue_runner_messages_test
