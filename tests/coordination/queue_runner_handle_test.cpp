// Ends of a queue_runner that a task group or run() owns, without a coordinator.

#include "leat/coordination/queue_runner_handle.hpp"

#include "async/task_steps.hpp"
#include "coordination/runner_steps.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"
#include "support/records/error_texts.hpp"

namespace queue_runner_handle_test {

using namespace runner_steps;
using leat_test::error_texts;

task<> nothing() { co_return; }

LEAT_TEST("queue_runner_handle: the end of the input is not an error") {
  number_queue q(10, "q");
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([&] { return count(n, 3); }, "op");
  task_group group;
  const leat::queue_runner_handle handle = runner.start(group);
  CHECK(handle);
  CHECK(group.live_tasks() == 1);
  CHECK(group.report().at(0).name == "queue_runner q op");
  co_await handle.join();
  CHECK(n == 3);
  CHECK(handle.exceptions_raised().empty());
  CHECK(handle.running_producers() == 0);
  CHECK(q.is_closed());
  co_await group.join();
}

LEAT_TEST("queue_runner_handle: runs the close_op once, after the last operation has ended") {
  number_queue q(10);
  int a = 0;
  int b = 0;
  std::vector<int> closed;
  leat::queue_runner_options options;
  options.close_op.run = [&]() -> task<> {
    closed.push_back(a + b);
    co_return;
  };
  leat::queue_runner runner(q, options);
  runner.add([&] { return count(a, 3); });
  runner.add([&] { return count(b, 30); });
  co_await runner.run();
  CHECK(a == 3);
  CHECK(b == 30);
  CHECK(closed == std::vector<int>{33});
  CHECK_FALSE(q.is_closed());  // the close_op replaces the close
  CHECK(runner.last_start().exceptions_raised().empty());
}

LEAT_TEST("queue_runner_handle: keeps the errors of all operations and throws the first") {
  number_queue q(10);
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([] { return fail("one"); });
  runner.add([] { return fail("two"); });
  runner.add([&] { return count(n, 30); });
  const std::string what = co_await message_of(runner.run());
  const auto errors = error_texts(runner.last_start().exceptions_raised());
  CHECK(errors.size() == 2);
  CHECK(what == errors.at(0));
  CHECK(n == 30);
}

LEAT_TEST("queue_runner_handle: an operation between two queues passes on the end") {
  number_queue q0(3);
  number_queue q1(30);
  leat::queue_runner runner(q1);
  runner.add([&] { return move_one(q0, q1); });
  task_group group;
  const leat::queue_runner_handle handle = runner.start(group);
  co_await q0.push(10);
  co_await q0.push(10);
  q0.close();
  co_await handle.join();
  CHECK(handle.exceptions_raised().empty());
  CHECK(*co_await q1.pop() == 10);
  CHECK(*co_await q1.pop() == 10);
  CHECK_FALSE(co_await q1.pop());
  co_await group.join();
}

// A start takes the place of a session. Only a runner with a cancel_op has an extra task, which
// runs it after a stop.
LEAT_TEST("queue_runner_handle: each start creates one task per operation") {
  for (const bool own_cancel : {false, true}) {
    number_queue q(3);
    int n = 0;
    leat::queue_runner_options options;
    if (own_cancel) options.cancel_op = {"cancel", [] { return nothing(); }};
    leat::queue_runner runner(q, options);
    runner.add([&] { return count(n, 3); });
    leat::coordinator first;
    leat::coordinator second;
    for (leat::coordinator* const coord : {&first, &second}) {
      n = 0;
      const leat::queue_runner_handle handle = runner.start(*coord);
      CHECK(handle.running_producers() == 1);
      CHECK(coord->live_tasks() == (own_cancel ? 2 : 1));
      co_await coord->join();
      CHECK(handle.exceptions_raised().empty());
      CHECK(n == 3);
    }
    task_group group;
    n = 0;
    CHECK(runner.start(group).running_producers() == 1);
    CHECK(group.live_tasks() == (own_cancel ? 2 : 1));
    co_await group.join();
  }
}

LEAT_TEST("queue_runner_handle: a second start while it runs throws failed_precondition") {
  number_queue q(3);
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([&] { return count(n, 3); });
  task_group group;
  CHECK_FALSE(runner.last_start());
  CHECK(runner.start(group));
  const leat::queue_runner_handle second = runner.start(group);
  CHECK_FALSE(second);
  CHECK(second.running_producers() == 0);
  CHECK(second.exceptions_raised().empty());
  co_await second.join();
  co_await second.wait_for_first_enqueue();
  CHECK(runner.running_producers() == 1);
  const std::string what = co_await message_of(runner.run());
  CHECK(contains(what, "is already running: join the current run"));
  co_await group.join();
  CHECK(n == 3);
}

LEAT_TEST("queue_runner_handle: `cancelled` is an error unless queue_closed_errors contains it") {
  number_queue q(3);
  leat::queue_runner runner(q);
  runner.add([] { return fail_with(errc::cancelled); });
  task_group group;
  const leat::queue_runner_handle handle = runner.start(group);
  const std::string what = co_await message_of(handle.join());
  CHECK(what.starts_with("failed"));
  CHECK(handle.exceptions_raised().size() == 1);
  CHECK(co_await message_of(group.join()) == what);
}

LEAT_TEST("queue_runner_handle: queue_closed_errors may contain several errors") {
  number_queue q(3);
  int closed = 0;
  leat::queue_runner_options options{.queue_closed_errors = {errc::out_of_range, errc::cancelled}};
  options.close_op.run = [&] { return task_steps::count(closed); };
  leat::queue_runner runner(q, options);
  runner.add([] { return fail_with(errc::cancelled); });
  co_await runner.run();
  CHECK(runner.last_start().exceptions_raised().empty());
  CHECK(closed == 1);
}

LEAT_TEST(
    "queue_runner_handle: an error of the close_op follows the others, and the queue throws it") {
  for (const bool with_error : {false, true}) {
    number_queue q(3);
    leat::queue_runner_options options;
    options.close_op.run = [] { return fail("close"); };
    leat::queue_runner runner(q, options);
    int n = 0;
    runner.add([&] { return count(n, 30); });
    if (with_error) runner.add([] { return fail("first"); });
    const std::string what = co_await message_of(runner.run());
    CHECK(what == (with_error ? "first" : "close"));
    CHECK(error_texts(runner.last_start().exceptions_raised()) ==
          (with_error ? std::vector<std::string>{"first", "close"}
                      : std::vector<std::string>{"close"}));
    CHECK(co_await message_of(q.pop()) == what);
  }
}

LEAT_TEST(
    "queue_runner_handle: if the last producer fails, the queue drains and then throws the error") {
  number_queue q(10);
  int n = 0;
  leat::queue_runner runner(q);
  runner.add([&]() -> task<> {
    if (n == 2) throw std::runtime_error("boom");
    co_await push_next(q, n);
  });
  CHECK(co_await message_of(runner.run()) == "boom");
  CHECK(*co_await q.pop() == 0);
  CHECK(*co_await q.pop() == 1);
  CHECK(co_await message_of(q.pop()) == "boom");
}

LEAT_TEST(
    "queue_runner_handle: runs the cancel_op after a last error, the close_op after a normal last "
    "end") {
  for (const bool last_fails : {true, false}) {
    number_queue q(3);
    int n = 0;
    std::string ran;
    leat::queue_runner_options options;
    options.close_op.run = [&]() -> task<> {
      ran += "close";
      co_return;
    };
    options.cancel_op.run = [&]() -> task<> {
      ran += "cancel";
      co_return;
    };
    leat::queue_runner runner(q, options);
    runner.add([&] { return count(n, last_fails ? 0 : 30); });
    runner.add([last_fails]() -> task<> {
      for (int i = 0; i < 10 && last_fails; ++i) co_await leat::this_task::yield();
      throw std::runtime_error("boom");
    });
    CHECK(co_await message_of(runner.run()) == "boom");
    CHECK(ran == (last_fails ? "cancel" : "close"));
    CHECK(co_await message_of(q.pop()) == "boom");
  }
}

LEAT_TEST("queue_runner_handle: each start keeps its own errors") {
  number_queue q(3);
  leat::queue_runner runner(q);
  bool fails = true;
  runner.add([&]() -> task<bool> {
    if (fails) throw std::runtime_error("first");
    co_return false;
  });
  co_await message_of(runner.run());
  const leat::queue_runner_handle first = runner.last_start();
  fails = false;
  co_await runner.run();
  CHECK(error_texts(first.exceptions_raised()) == std::vector<std::string>{"first"});
  CHECK(runner.last_start().exceptions_raised().empty());
}

LEAT_TEST("queue_runner_handle: may outlive its runner") {
  leat::queue_runner_handle handle;
  task_group group;
  {
    number_queue q(3);
    leat::queue_runner runner(q);
    runner.add([] { return fail("gone"); });
    handle = runner.start(group);
    co_await message_of(group.join());
  }
  CHECK(error_texts(handle.exceptions_raised()) == std::vector<std::string>{"gone"});
  group.request_stop();  // must not reach the queue
}

}  // namespace queue_runner_handle_test
