// Waits for queues and their owners in a dump, and operations that wait for each other.

#include <regex>
#include <source_location>
#include <thread>
#include <vector>

#include "leat/coordination.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace queue_waits_test {

using leat::coordinator;
using leat::fifo_queue;
using leat_test::dump;

const std::string in_this_file = R"( at queue_waits_test\.cpp:\d+ in )";  // for an expression

// Pushes two items for each item that it pops, so it fills queues faster than it empties them.
task<void> greedy(fifo_queue<int>& into, fifo_queue<int>& from) {
  for (bool open = true; open;) {
    co_await into.push(1);
    open = co_await into.push(2);
    const auto answer = co_await from.pop();
    open = open && answer.has_value();
  }
}

task<void> echo(fifo_queue<int>& from, fifo_queue<int>& into) {
  while (const auto item = co_await from.pop()) {
    const bool pushed = co_await into.push(*item);
    if (!pushed) co_return;
  }
}

constexpr const char* the_cycle =
    "these probably wait for each other: 'b' (push to queue 'q2' (2 of 2)) -> "
    "'a' (push to queue 'q1' (2 of 2)) -> 'b'";

LEAT_TEST("dump: names tasks that wait for each other through full queues") {
  fifo_queue<int> q1(2, "q1"), q2(2, "q2");
  task_group group;
  group.spawn(greedy(q1, q2), "a");
  group.spawn(echo(q1, q2), "b");
  co_await leat::sleep_for(1s);
  const std::string text = dump();
  const std::string json = dump(leat::dump_format::json);
  co_await stop_and_join(group);
  INFO(text);
  CHECK(contains(text, the_cycle));
  CHECK(contains(json, R"("cycles":[{"certain":false,"members":[)"));
  CHECK(contains(json,
                 R"("object":{"type":"queue","name":"q1","size":2,"capacity":2,"asked":1,"done":0,)"
                 R"("closed":false})"));
}

LEAT_TEST("dump: a batch has its requested and its current count") {
  fifo_queue<int> q(10, "q");
  task_group g;
  bool ended_empty = false;
  g.spawn([](fifo_queue<int>& from, bool& empty) -> task<void> {
    empty = !co_await from.pop_many(4);
  }(q, ended_empty));
  for (int i = 0; i < 3; ++i) {
    CHECK(q.try_push(i));
    co_await leat::this_task::yield();
  }
  const std::string text = dump();
  const std::string json = dump(leat::dump_format::json);
  INFO(text);
  INFO(json);
  CHECK(contains(text, "pop from queue 'q' (0 of 10), 3 of 4 done"));
  CHECK(contains(json, R"("asked":4,"done":3)"));
  q.close();
  co_await g.join();
  CHECK(ended_empty);
  CHECK(q.size() == 3);
}

LEAT_TEST("dump: reports no cycle if another task has popped from the queue before") {
  fifo_queue<int> q1(2, "q1"), q2(2, "q2");
  task_group group;
  group.spawn(
      [](fifo_queue<int>& from) -> task<void> {
        co_await from.pop();
        co_await leat::sleep_for(1h);
      }(q1),
      "c");
  co_await leat::this_task::yield();  // q1 records c as a popping task
  group.spawn(greedy(q1, q2), "a");
  group.spawn(echo(q1, q2), "b");
  co_await leat::sleep_for(1s);
  const std::string text = dump();
  co_await stop_and_join(group);
  INFO(text);
  CHECK(contains(text, "a: push to queue 'q1' (2 of 2)"));
  CHECK(contains(text, "b: push to queue 'q2' (2 of 2)"));
  CHECK_FALSE(contains(text, "wait for each other"));
}

LEAT_TEST("dump: reports no cycle if another task has pushed to the queue before") {
  const bool feeder_first = GENERATE(true, false);  // it waits for room, and a for the feeder
  const bool feeder_lives = GENERATE(true, false);
  fifo_queue<int> q1(1, "q1"), q2(1, "q2");
  task_group group;
  const auto feed = [](fifo_queue<int>& to, bool lives) -> task<void> {
    co_await to.push(1);
    co_await to.push(2);
    if (lives) co_await leat::sleep_for(1h);
  };
  const auto consume = [](fifo_queue<int>& from, fifo_queue<int>& to) -> task<void> {
    co_await from.pop();
    co_await from.pop();
    co_await to.push(3);
    co_await from.pop();
    co_await from.pop();
  };
  if (feeder_first) {
    group.spawn(feed(q1, feeder_lives), "feeder");
    co_await leat::this_task::yield();
  }
  group.spawn(
      [](fifo_queue<int>& from, fifo_queue<int>& to) -> task<void> {
        co_await from.pop();
        co_await to.push(4);
        co_await from.pop();
      }(q2, q1),
      "b");
  group.spawn(consume(q1, q2), "a");
  co_await leat::this_task::yield();
  if (!feeder_first) group.spawn(feed(q1, feeder_lives), "feeder");
  co_await leat::sleep_for(1s);
  const std::string text = dump();
  co_await stop_and_join(group);
  INFO("the feeder comes first: " << feeder_first << ", lives on: " << feeder_lives);
  INFO(text);
  CHECK(contains(text, "a: pop from queue 'q1' (0 of 1)"));
  CHECK(contains(text, "b: pop from queue 'q2' (0 of 1)"));
  CHECK(contains(text, "wait for each other") == !feeder_lives);
}

LEAT_TEST("dump: reports no cycle for a task that is about to resume") {
  fifo_queue<int> q1(2, "q1"), q2(2, "q2");
  task_group group;
  group.spawn(greedy(q1, q2), "a");
  group.spawn(echo(q1, q2), "b");
  co_await leat::sleep_for(1s);
  const auto taken = q1.try_pop();  // lets a continue in its next turn
  const std::string text = dump();
  co_await stop_and_join(group);
  INFO(text);
  CHECK(taken);
  CHECK_FALSE(contains(text, "wait for each other"));
}

TEST_CASE("world: a deadlock names the tasks that wait for each other") {
  leat::sim::world w(1, {.threads = 2});
  std::string what;
  try {
    w.run([](leat::sim::world& here) -> task<> {
      fifo_queue<int> q1(2, "q1"), q2(2, "q2");
      task_group group;
      group.spawn_on(here.thread(0), greedy(q1, q2), "a");
      group.spawn_on(here.thread(1), echo(q1, q2), "b");
      co_await group.join();
    });
  } catch (const leat::sim::deadlock& e) {
    what = e.what();
  }
  INFO(what);
  CHECK(contains(what, "these probably wait for each other: "));
  CHECK(contains(what, "'a' (push to queue 'q1' (2 of 2)) -> 'b' (push to queue 'q2' (2 of 2))") !=
        contains(what,
                 "'b' (push to queue 'q2' (2 of 2)) -> 'a' (push to queue 'q1' (2 of 2)) -> 'b'"));
}

TEST_CASE("coordinator: a dump reports threads that block on each other") {
  fifo_queue<int> q1(1, "q1"), q2(1, "q2");
  coordinator c("training");
  const auto pop_then_fill = [](fifo_queue<int>& from, fifo_queue<int>& into) {
    if (leat::block_on(from.pop())) {
      while (leat::block_on(into.push(1))) {
      }
    }
  };
  c.start_thread("left", [&](const std::stop_token&) { pop_then_fill(q2, q1); });
  c.start_thread("right", [&](const std::stop_token&) { pop_then_fill(q1, q2); });
  // A queue records the tasks and threads that wait to pop.
  while (q1.statistics().waiting_pops == 0 || q2.statistics().waiting_pops == 0) {
    std::this_thread::yield();
  }
  REQUIRE(q1.try_push(0));
  const auto stuck = [](const fifo_queue<int>& q) {
    const auto now = q.statistics();
    return now.popped == 1 && now.waiting_pushes == 1;
  };
  while (!stuck(q1) || !stuck(q2)) {
    std::this_thread::yield();
  }
  const std::string text = dump();
  c.request_stop();
  leat::block_on(c.join({.grace = 1h}));
  INFO(text);
  CHECK(contains(text, "coordinator 'training', 0 tasks, 2 threads\n"));
  CHECK(contains(text, "  thread left: push to queue 'q1' (1 of 1), at queue_waits_test.cpp:"));
  CHECK(contains(text, "  thread right: push to queue 'q2' (1 of 1), at queue_waits_test.cpp:"));
  CHECK(contains(text, "these probably wait for each other: "));
  CHECK(contains(text,
                 "'left' (push to queue 'q1' (1 of 1)) -> 'right' (push to queue 'q2' (1 of 1))") !=
        contains(text,
                 "'right' (push to queue 'q2' (1 of 1)) -> 'left' (push to queue 'q1' (1 of 1)) -> "
                 "'right'"));
}

TEST_CASE("coordinator: a dump lists threads that block on an owner on separate lines") {
  leat::runtime rt;
  leat::scheduler& sched = rt.get_scheduler();
  fifo_queue<int> open(1, "open"), fed(1, "fed"), also_fed(1, "also fed");
  const auto pop = [](fifo_queue<int>& q) -> task<void> { co_await q.pop(); };
  const auto produce = [&open]() -> task<bool> { co_return (co_await open.pop()).has_value(); };
  coordinator other("other");
  other.spawn_on(sched, pop(open));
  task_group group("some");
  group.spawn_on(sched, pop(open));
  leat::queue_runner started(fed), runner(also_fed);
  started.add(produce);
  runner.add(produce);
  const leat::queue_runner_handle run = started.start(group, sched);
  coordinator c("training");
  c.start_thread("a", [&](const std::stop_token&) { leat::block_on(other.join()); });
  c.start_thread("b", [&](const std::stop_token&) { leat::block_on(other.wait_for_stop()); });
  c.start_thread("c", [&](const std::stop_token&) { leat::block_on(group.join()); });
  c.start_thread("d", [&](const std::stop_token&) { rt.block_on(pop(open)); });
  c.start_thread(
      "e", [&](const std::stop_token&) { leat::block_on(leat::run_on(sched, runner.run())); });
  c.start_thread("f", [&](const std::stop_token&) { leat::block_on(run.join()); });
  std::string text;
  bool all_wait = false;
  do {
    std::this_thread::yield();
    all_wait = open.statistics().waiting_pops == 5;
    text = dump();
  } while (!all_wait || contains(text, "running") || contains(text, "not known"));
  other.request_stop();
  open.close();
  leat::block_on(c.join());
  leat::block_on(group.join());
  INFO(text);
  const auto told = [&](const std::string& thread_and_wait) {
    return std::regex_search(text, std::regex("  thread " + thread_and_wait + "," + in_this_file));
  };
  // A thread that runs a task, and below it the wait of that task.
  const auto runs = [&](const std::string& thread, const std::string& scope,
                        const std::string& wait) {
    const std::string line = "  thread " + thread + ": join " + scope + ", 1 task live," +
                             in_this_file + "[^\n]*\n    " + scope +
                             ", 1 task\n      [^\n]*: " + wait + ",";
    return std::regex_search(text, std::regex(line));
  };
  CHECK(runs("a", "block_on", "join coordinator 'other', 1 task live"));
  CHECK(runs("b", "block_on", "wait for a stop of coordinator 'other'"));
  CHECK(told("c: join task group 'some', 2 tasks live"));
  CHECK(runs("d", "runtime", "pop from queue 'open' \\(0 of 1\\)"));
  CHECK(told("e: join block_on, 1 task live"));
  CHECK(contains(text, "join task group 'queue_runner also fed', 1 task live"));
  CHECK(runs("f", "block_on", "wait for event 'end of queue_runner fed'"));
}

LEAT_TEST("dump: distinguishes a wait for a stop from a join") {
  coordinator c("training"), other({.name = "other"});
  c.spawn([](coordinator& o) -> task<void> { co_await o.wait_for_stop(); }(other), "waiter");
  co_await leat::this_task::yield();
  const std::string text = dump();
  other.request_stop();
  co_await c.join();
  INFO(text);
  CHECK(
      contains(text, "  waiter: wait for a stop of coordinator 'other', at queue_waits_test.cpp:"));
}

TEST_CASE("coordinator: a dump does not show the wait of a registered thread") {
  fifo_queue<int> q(1, "q");
  coordinator c("training");
  c.register_thread(std::jthread([&q] { leat::block_on(q.pop()); }), "registered");
  while (q.statistics().waiting_pops == 0) std::this_thread::yield();
  const std::string text = dump();
  const std::string json = dump(leat::dump_format::json);
  c.request_stop();
  std::string late;
  try {
    leat::block_on(c.join({.grace = 0s}));
  } catch (const leat::stragglers_error& e) {
    late = e.what();
  }
  q.close();
  leat::block_on(c.join());
  INFO(text);
  INFO(json);
  INFO(late);
  CHECK(contains(text, "\n  thread registered: not known: it was started elsewhere\n"));
  CHECK(contains(late, "\n  thread registered: not known: it was started elsewhere"));
  CHECK(contains(json, R"("name":"registered","state":"unknown","wait":null,"scopes":[]})"));
}

LEAT_TEST("coordinator: stragglers_error names cycles among the stragglers") {
  fifo_queue<int> q1(2, "q1"), q2(2, "q2");
  coordinator c("training");
  const auto shield = [](task<void> body, std::string name) -> task<void> {
    task_group inner(leat::shielded, "inner");
    inner.spawn(std::move(body), name);
    co_await inner.join();
  };
  c.spawn(shield(greedy(q1, q2), "a"), "outer a");
  c.spawn(shield(echo(q1, q2), "b"), "outer b");
  co_await leat::sleep_for(1s);
  c.request_stop();
  const std::string what = co_await message_of<leat::stragglers_error>(c.join({.grace = 1s}));
  q1.close_and_cancel();
  q2.close_and_cancel();
  try {
    co_await c.join();
  } catch (const leat::failure&) {
  }
  INFO(what);
  CHECK(contains(what, the_cycle));
}

LEAT_TEST("fifo_queue: an operation after a stop names the error of its queue") {
  leat::fifo_queue<int> q(1, "images");
  q.fail(std::make_exception_ptr(std::runtime_error("disk 3 is gone")));
  task_group group;
  std::string what;
  std::error_code code;
  group.spawn([](leat::fifo_queue<int>& queue, std::string& w, std::error_code& c) -> task<> {
    try {
      co_await queue.pop();
    } catch (const leat::failure& e) {
      w = e.what();
      c = e.code();
    }
  }(q, what, code));
  group.request_stop();
  co_await group.join();
  CHECK(code == errc::cancelled);
  CHECK(contains(what, "had failed before the stop request: disk 3 is gone"));
}

// ---- The tasks that could end a wait.

task<void> push_one(fifo_queue<int>& q, std::vector<leat::task_id>& pushing) {
  pushing.push_back(leat::scheduler::current_task()->id());
  co_await q.push(1);
}

// Of many tasks whose pushes have waited, the last ones are known once all have ended.
LEAT_TEST("queue: a pop that waits knows the last eight tasks whose pushes waited") {
  fifo_queue<int> q(1);
  CHECK(q.try_push(0));
  std::vector<leat::task_id> pushing;
  task_group g;
  for (int i = 0; i < 20; ++i) g.spawn(push_one(q, pushing));
  while (q.statistics().waiting_pushes < 20) co_await leat::this_task::yield();
  for (int i = 0; i < 21; ++i) CHECK(q.try_pop().has_value());
  co_await g.join();

  using pop = leat::detail::pop_operation<fifo_queue<int>, int>;
  pop operation{&q};
  leat::detail::queue_waiter waiting(operation, std::source_location::current());
  CHECK_FALSE(pop::begin(waiting));
  leat::wait_target target;
  waiting.what().inspect(waiting, target);
  CHECK(pop::withdraw(waiting));
  const std::vector<leat::task_id> last(pushing.rbegin(), pushing.rbegin() + 8);
  CHECK(target.partners == last);
}

}  // namespace queue_waits_test
