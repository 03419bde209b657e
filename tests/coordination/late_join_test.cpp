// The message of a join about the stragglers that are left after the grace period.

#include <algorithm>
#include <atomic>
#include <regex>
#include <thread>

#include "async/internal/live_tasks_text.hpp"
#include "leat/coordination.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace late_join_test {

using leat::coordinator;
using leat::fifo_queue;
using leat_test::dump;

const std::string in_this_file = R"( at late_join_test\.cpp:\d+ in )";  // for an expression

TEST_CASE("coordinator: stragglers_error has the blocking waits of threads") {
  std::atomic<bool> go{false};
  coordinator other("other");
  other.start_thread("busy", [&](const std::stop_token&) {
    while (!go) std::this_thread::yield();
  });
  coordinator c("training");
  c.start_thread("joiner", [&](const std::stop_token&) { leat::block_on(other.join()); });
  while (!contains(dump(), "join coordinator 'other'")) std::this_thread::yield();
  c.request_stop();
  const std::string what =
      leat::block_on(message_of<leat::stragglers_error>(c.join({.grace = 0s})));
  go = true;
  leat::block_on(c.join());
  INFO(what);
  const std::regex told("\n  thread joiner: join block_on, 1 task live," + in_this_file +
                        "[^\n]*\n    block_on, 1 task, stop requested\n"
                        "      [^\n]*: join coordinator 'other'[^\n]*$");
  CHECK(std::regex_search(what, told));
}

task<void> pop_in_two_steps(fifo_queue<int>& q) { co_await q.pop(); }

// Returns the message of a join of tasks that outlive the stop of `c`.
task<std::string> told_when_late(coordinator& c) {
  c.request_stop();
  const std::string what = co_await message_of<leat::stragglers_error>(c.join({.grace = 1s}));
  co_return what;
}

// The expected text for a task of a straggler's group. The task is in pop_in_two_steps(), awaited
// once.
std::string popping(const std::string& task, const std::string& queue) {
  return "\n      " + task + ": pop from queue '" + queue + R"(' \(0 of 3\),)" + in_this_file +
         "[^\n]*pop_in_two_steps, for 1.000 s\n        awaited" + in_this_file;
}

LEAT_TEST("coordinator: stragglers_error has the await chain and the groups of a straggler") {
  fifo_queue<int> q(3, "never");
  coordinator c("training");
  c.spawn(
      [](fifo_queue<int>& from) -> task<void> {
        task_group inner(leat::shielded, "inner");
        inner.spawn([](fifo_queue<int>& f) -> task<void> { co_await pop_in_two_steps(f); }(from),
                    "leaf");
        co_await inner.join();
      }(q),
      "straggler");
  co_await leat::this_task::yield();
  const std::string what = co_await told_when_late(c);
  q.close();
  co_await c.join();
  INFO(what);
  const std::regex told("\n  straggler: join task group 'inner', 1 task live," + in_this_file +
                        "[^\n]*\n    task group 'inner', 1 task" + popping("leaf", "never"));
  CHECK(std::regex_search(what, told));
}

LEAT_TEST("coordinator: stragglers_error has the wait of the stop_loop of a looper") {
  fifo_queue<int> q(3, "answers");
  coordinator c("training");
  leat::looper_options options;
  options.interval = 1h;
  options.stop_loop = [&q]() -> task<void> { co_await pop_in_two_steps(q); };
  c.spawn(leat::looper([]() -> task<void> { co_return; }, options), "saver");
  co_await leat::this_task::yield();
  const std::string what = co_await told_when_late(c);
  q.close();
  co_await c.join();
  INFO(what);
  CHECK(contains(what, "\n  saver: join task group 'stop_loop', 1 task live, at looper.cpp:"));
  CHECK(std::regex_search(what, std::regex(popping("stop_loop", "answers"))));
}

LEAT_TEST("coordinator: stragglers_error has the wait of the cancel_op of a runner") {
  fifo_queue<int> q(3, "answers"), fed(1, "fed");
  leat::queue_runner_options options;
  options.cancel_op = {"say goodbye", [&q]() -> task<void> { co_await pop_in_two_steps(q); }};
  leat::queue_runner runner(fed, options);
  runner.add([&fed]() -> task<bool> { co_return co_await fed.push(1); });
  coordinator c("training");
  runner.start(c);
  co_await leat::this_task::yield();
  const std::string what = co_await told_when_late(c);
  q.close();
  co_await c.join();
  fed.close_and_cancel();
  INFO(what);
  CHECK(contains(
      what,
      "close_on_stop: join task group 'queue_runner fed', 1 task live, at queue_runner_state"));
  CHECK(std::regex_search(what, std::regex(popping("say goodbye", "answers"))));
}

LEAT_TEST("coordinator: a group that outlives the task that created it is not a straggler") {
  fifo_queue<int> q(3, "never");
  std::optional<task_group> left_behind;
  std::string of_nobody, of_one;
  coordinator c("training");
  c.spawn([](std::optional<task_group>& group, fifo_queue<int>& from) -> task<void> {
    group.emplace(leat::shielded, "left behind");
    group->spawn(pop_in_two_steps(from), "leaf");
    co_return;
  }(left_behind, q));
  co_await leat::this_task::yield();
  co_await leat::this_task::yield();
  of_nobody = leat::detail::describe_live_tasks(c);
  c.spawn([](task_group& group) -> task<void> { co_await group.join(); }(*left_behind), "joiner");
  co_await leat::this_task::yield();
  of_one = leat::detail::describe_live_tasks(c);
  q.close();
  co_await c.join();
  INFO(of_one);
  CHECK(of_nobody.empty());
  CHECK(
      contains(of_one, "  joiner: join task group 'left behind', 1 task live, at late_join_test."));
  CHECK(contains(of_one, "\n  task group 'left behind', 1 task\n    leaf: pop from queue 'never'"));
}

// Awaits a group that no stop reaches, three calls deep.
task<void> third_call(task_group*& made) {
  task_group deaf(leat::shielded, "deaf");
  made = &deaf;
  deaf.spawn([]() -> task<void> { co_await leat::sleep_for(1h); }());
  co_await deaf.join();
}
task<void> second_call(task_group*& made) { co_await third_call(made); }
task<void> first_call(task_group*& made) { co_await second_call(made); }

LEAT_TEST("coordinator: stragglers_error has the await chain of a straggler") {
  coordinator c("training");
  task_group* running = nullptr;
  c.spawn([](task_group*& made) -> task<void> { co_await first_call(made); }(running), "straggler");
  co_await leat::this_task::yield();
  const std::string what = co_await told_when_late(c);
  running->request_stop();
  co_await c.join();
  INFO(what);
  const std::string& here = in_this_file;
  const std::regex chain("\n  straggler: join task group 'deaf', 1 task live," + here +
                         "[^\n]*third_call, for [^\n]*\n +awaited" + here +
                         "[^\n]*second_call\n +awaited" + here + "[^\n]*first_call\n +awaited" +
                         here + "[^\n]*\n");
  CHECK(std::regex_search(what, chain));
}

}  // namespace late_join_test
