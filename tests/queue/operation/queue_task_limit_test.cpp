// Limits on tasks that use queues, and tasks next to queue operations in a select.

#include <variant>

#include "leat/queue/fifo_queue.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace queue_task_limit_test {

task<int> finish_despite_stop(int value, leat::duration d) {
  co_await leat::as_tuple(leat::sleep_for(d));
  co_return value;
}
task<int> pop_from(leat::fifo_queue<int>& q) {
  const auto item = co_await q.pop();
  co_return *item;
}

LEAT_TEST("with_timeout: the message names the operation that the task waited for") {
  leat::fifo_queue<int> jobs(4, "jobs");
  const std::string text = co_await message_of(leat::with_timeout(pop_from(jobs), 2s));
  CHECK(contains(text, "task that waits for pop"));
  CHECK(contains(text, "'jobs'"));
  CHECK(contains(text, "task_limit_test.cpp"));
  CHECK(contains(text, "timed out"));
}

LEAT_TEST("with_timeout: a task loses no item that its pop has received") {
  leat::fifo_queue<int> q(4);
  const auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(pop_from(q), 1s));
  CHECK(ec == errc::deadline_exceeded);
  co_await q.push(3);
  CHECK(q.size() == 1);
  CHECK((co_await leat::with_timeout(pop_from(q), 1s)) == 3);
}

LEAT_TEST("select: a task that returns first wins") {
  leat::fifo_queue<int> q(4);
  auto won = co_await leat::select(value_after(7, 1s), q.pop(), leat::sleep_for(2s));
  REQUIRE(won.index() == 0);
  CHECK(std::get<0>(won) == 7);
  CHECK(q.statistics().waiting_pops == 0);
}

LEAT_TEST("select: an operation that completes immediately wins before the task starts") {
  leat::fifo_queue<int> q(4);
  co_await q.push(3);
  bool started = false;
  const auto note_start = [&]() -> task<int> {
    started = true;
    co_return 1;
  };
  auto won = co_await leat::select(note_start(), q.pop());
  REQUIRE(won.index() == 1);
  CHECK(std::get<1>(won) == 3);
  CHECK(!started);
}

LEAT_TEST("select: a task that returns despite its stop wins, and the pop is undone") {
  leat::fifo_queue<int> q(4);
  task_group group;
  group.spawn([&]() -> task<> {
    co_await leat::sleep_for(1s);
    co_await q.push(3);
  });
  auto won = co_await leat::select(finish_despite_stop(7, 1000h), q.pop());
  REQUIRE(won.index() == 0);
  CHECK(std::get<0>(won) == 7);
  co_await group.join();
  CHECK(q.size() == 1);
  CHECK(*co_await q.pop() == 3);
}

LEAT_TEST("with_timeout: the dump shows the limit, the task and its wait", "[async][dump]") {
  leat::fifo_queue<int> jobs(4, "jobs");
  task_group group;
  group.spawn([&]() -> task<> { co_await leat::with_timeout(pop_from(jobs), 1000h); }, "caller");
  co_await leat::sleep_for(1s);
  const std::string text = leat_test::dump();
  INFO(text);
  CHECK(contains(text, "caller: limit on a task, 3599999000 ms left, at queue_task_limit_test"));
  CHECK(contains(text, "pop from queue 'jobs'"));
  CHECK(contains(text, "task_limit_test.cpp"));
  group.request_stop();
  co_await group.join();
}

}  // namespace queue_task_limit_test
