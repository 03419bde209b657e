// Waits for the runs of a queue_runner without a coordinator, and stops them.

#include "async/task_steps.hpp"
#include "coordination/runner_steps.hpp"
#include "leat/coordination.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"
#include "support/records/error_texts.hpp"

namespace queue_runner_handle_waits_test {

using namespace runner_steps;
using leat_test::error_texts;

// A runner in a group, whose only operation moves items from `from` to `to`.
struct moving_runner {
  moving_runner() {
    runner.add([this] { return move_one(from, to); });
    handle = runner.start(group);
  }
  number_queue from{3};
  number_queue to{3};
  leat::queue_runner runner{to};
  task_group group;
  leat::queue_runner_handle handle;
};

LEAT_TEST(
    "queue_runner_handle: a timeout of the wait for the first enqueues leaves the tasks running") {
  moving_runner r;
  CHECK(co_await code_of(r.handle.wait_for_first_enqueue(1ms)) == errc::deadline_exceeded);
  CHECK(r.handle.running_producers() == 1);
  co_await r.from.push(1);
  co_await r.handle.wait_for_first_enqueue(1ms);
  CHECK(r.to.size() == 1);
  r.from.close();
  co_await r.group.join();
  co_await r.handle.wait_for_first_enqueue(0ms);
}

LEAT_TEST("queue_runner_handle: accepts any limit for the first enqueues in any unit") {
  number_queue q(30);
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([&]() -> task<bool> {
    co_await leat::sleep_for(1s);
    co_await push_next(q, n);
    co_return false;
  });
  task_group group;
  const leat::queue_runner_handle handle = runner.start(group);
  co_await handle.wait_for_first_enqueue(std::chrono::seconds::max());
  CHECK(q.size() == 1);
  co_await group.join();
}

LEAT_TEST(
    "queue_runner_handle: the wait for the first enqueues ends when each operation has run once") {
  number_queue q(30);
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([&]() -> task<bool> {
    co_await leat::sleep_for(1s);
    co_return co_await push_next(q, n);
  });
  runner.add([&]() -> task<bool> {
    co_await leat::sleep_for(3s);
    co_return false;
  });
  const task_steps::stopwatch time;
  task_group group;
  const leat::queue_runner_handle handle = runner.start(group);
  co_await handle.wait_for_first_enqueue();
  CHECK(time.elapsed() == 3s);
  CHECK(handle.running_producers() == 1);
  group.request_stop();
  co_await group.join();
}

LEAT_TEST(
    "queue_runner_handle: the wait for the first enqueues reports an error of a first run only") {
  number_queue q(30);
  task_group group;
  leat::queue_runner early(q);
  early.add([] { return fail_with(errc::out_of_range); });
  CHECK(co_await code_of(early.start(group).wait_for_first_enqueue()) == errc::out_of_range);
  co_await group.join();

  number_queue other(30);
  int n = 0;
  leat::queue_runner late(other);
  late.add([&] { return count(n, 1); });
  const leat::queue_runner_handle handle = late.start(group);
  co_await group.join();
  co_await handle.wait_for_first_enqueue();
  CHECK(n == 1);
}

LEAT_TEST("queue_runner_handle: a stop ends the wait for the first enqueues") {
  moving_runner r;
  r.group.request_stop();  // before any operation has begun
  CHECK(co_await code_of(r.handle.wait_for_first_enqueue()) == errc::cancelled);
  co_await r.group.join();
  CHECK(r.handle.exceptions_raised().empty());
}

// A failure of the queue takes the place of closing the session.
LEAT_TEST("queue_runner_handle: join() waits for the operations and throws their error") {
  moving_runner r;
  task_group waiting;
  bool ended = false;
  std::error_code ec;
  waiting.spawn([](leat::queue_runner_handle handle, bool& e, std::error_code& code) -> task<> {
    code = co_await code_of(handle.join());
    e = true;
  }(r.handle, ended, ec));
  co_await r.from.push(1);
  co_await leat::sleep_for(10s);
  CHECK_FALSE(ended);
  CHECK(r.to.size() == 1);
  r.from.fail(std::make_exception_ptr(leat::failure(errc::cancelled, "session closed")));
  co_await waiting.join();
  CHECK(ended);
  CHECK(ec == errc::cancelled);
  co_await message_of(r.group.join());
}

LEAT_TEST(
    "queue_runner_handle: a stop of the group ends it without an error, and cancels the queue") {
  moving_runner r;
  co_await r.from.push(1);
  co_await leat::sleep_for(1s);
  r.group.request_stop();
  co_await r.group.join();
  CHECK(r.handle.exceptions_raised().empty());
  CHECK(r.to.is_closed());
  CHECK(r.to.size() == 1);
}

LEAT_TEST("queue_runner_handle: a stop runs the cancel_op once and does not cancel it") {
  number_queue q(1);
  int n = 0;
  int cancelled = 0;
  leat::queue_runner_options options;
  options.cancel_op.run = [&]() -> task<> {
    co_await leat::sleep_for(1s);
    ++cancelled;
  };
  leat::queue_runner runner(q, options);
  runner.add([&] { return push_next(q, n); });
  task_group group;
  runner.start(group);
  co_await leat::sleep_for(1s);
  group.request_stop();
  co_await group.join();
  CHECK(cancelled == 1);
  CHECK_FALSE(q.is_closed());
}

LEAT_TEST("queue_runner_handle: a cancel_op that fails leaves a closed queue and is reported") {
  number_queue q(1);
  int n = 0;
  leat::queue_runner_options options;
  options.cancel_op.run = [] { return fail("cancel"); };
  leat::queue_runner runner(q, options);
  runner.add([&] { return push_next(q, n); });
  task_group group;
  const leat::queue_runner_handle handle = runner.start(group);
  co_await leat::sleep_for(1s);
  group.request_stop();
  CHECK(co_await message_of(group.join()) == "cancel");
  CHECK(error_texts(handle.exceptions_raised()) == std::vector<std::string>{"cancel"});
  CHECK(q.is_closed());
}

LEAT_TEST("queue_runner_handle: run() ends with the task that called it") {
  number_queue q(1);
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([&] { return push_next(q, n); });
  task_group group;
  group.spawn(runner.run());
  co_await leat::sleep_for(1s);
  CHECK(runner.running_producers() == 1);
  group.request_stop();
  co_await group.join();
  CHECK(runner.running_producers() == 0);
  CHECK(q.is_closed());
}

TEST_CASE("queue_runner_handle: an OS thread can start, wait and join") {
  leat::runtime threads({.threads = 1});
  number_queue q(100);
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([&] { return count(n, 30); });
  leat::block_on(leat::run_on(threads.get_scheduler(), runner.run()));
  CHECK(n == 30);
  leat::block_on(runner.last_start().join());

  leat::queue_runner failing(q);
  failing.add([] { return fail("boom"); });
  CHECK_THROWS_WITH(leat::block_on(leat::run_on(threads.get_scheduler(), failing.run())), "boom");
  CHECK_THROWS_WITH(leat::block_on(failing.last_start().join()), "boom");
}

}  // namespace queue_runner_handle_waits_test
