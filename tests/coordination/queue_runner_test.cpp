#include "leat/coordination/queue_runner.hpp"

#include <algorithm>

#include "async/task_steps.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace queue_runner_test {

// Pushes the numbers from `next` to `limit`, then reports the end of its input.
struct counter {
  leat::fifo_queue<int>& queue;
  int limit;
  int next = 0;

  task<bool> step() {
    if (next == limit) co_return false;
    const bool in = co_await queue.push(int{next});
    ++next;
    co_return in;
  }
};

// A runner that pushes the numbers below `limit` to a queue of its own, and its coordinator.
struct counting_runner {
  counting_runner(std::size_t capacity, int limit, leat::queue_runner_options options = {})
      : q(capacity), a{q, limit}, runner(q, std::move(options)) {
    runner.add([this] { return a.step(); });
  }
  leat::fifo_queue<int> q;
  counter a;
  leat::queue_runner runner;
  leat::coordinator coord;
};

// Options with a cancel_op that counts its runs.
leat::queue_runner_options count_cancels(int& runs) {
  leat::queue_runner_options options;
  options.cancel_op.run = [&runs] { return task_steps::count(runs); };
  return options;
}

task<void> throwing_step(int& calls) {
  co_await leat::this_task::yield();
  if (++calls == 3) throw leat::failure(errc::out_of_range, "end");
}

task<bool> broken_step() {
  co_await leat::this_task::yield();
  throw std::runtime_error("boom");
}

task<std::vector<int>> drain(leat::fifo_queue<int>& q) {
  std::vector<int> out;
  for (;;) {
    const auto item = co_await q.pop();
    if (!item) break;
    out.push_back(*item);
  }
  co_return out;
}

LEAT_TEST("queue_runner: closes the queue when the last producer ends") {
  counting_runner r(4, 3);
  counter b{r.q, 30};
  r.runner.add([&] { return b.step(); });
  CHECK(r.runner.start(r.coord));
  const auto out = co_await drain(r.q);
  co_await r.coord.join();  // returns without a stop request
  CHECK(out.size() == 33);
  CHECK(r.a.next == 3);
  CHECK(b.next == 30);
  CHECK(r.runner.running_producers() == 0);
  CHECK_FALSE(r.coord.should_stop());
}

LEAT_TEST("queue_runner: an error in queue_closed_errors ends an operation normally") {
  leat::fifo_queue<int> q(4);
  int calls = 0;
  leat::queue_runner runner(q);
  runner.add([&] { return throwing_step(calls); });
  leat::coordinator coord;
  runner.start(coord);
  co_await coord.join();
  CHECK(calls == 3);
  CHECK(q.is_closed());
}

LEAT_TEST("queue_runner: a failing operation stops all and the consumer gets its error") {
  counting_runner r(4, 1000);
  r.runner.add([] { return broken_step(); });
  r.runner.start(r.coord);
  CHECK(co_await message_of(r.coord.join()) == "boom");
  CHECK(r.runner.last_start().exceptions_raised().empty());
  CHECK(co_await message_of(drain(r.q)) == "boom");
}

LEAT_TEST("queue_runner: a stop ends producers that wait in a full queue") {
  counting_runner r(2, 1000);
  r.runner.start(r.coord);
  for (int i = 0; i < 10; ++i) co_await leat::this_task::yield();
  CHECK(r.q.size() == 2);
  r.coord.request_stop();
  co_await r.coord.join();
  CHECK(r.q.is_closed());
  CHECK(r.q.size() == 2);
}

LEAT_TEST("queue_runner: a second start while it runs starts nothing") {
  counting_runner r(2, 3);
  CHECK(r.runner.start(r.coord));
  CHECK_FALSE(r.runner.start(r.coord));
  const auto out = co_await drain(r.q);
  CHECK(out == std::vector<int>{0, 1, 2});
  co_await r.coord.join();
}

TEST_CASE("queue_runner: rejects a start without operations and empty queue_closed_errors") {
  leat::fifo_queue<int> q(2);
  leat::queue_runner runner(q);
  leat::coordinator coord;
  leat::sim::virtual_scheduler s;
  CHECK_THROWS_WITH(runner.start(coord, s), Catch::Contains("call add() before start()"));
  CHECK_THROWS_WITH(leat::queue_runner(q, {.queue_closed_errors = {}}),
                    Catch::Contains("queue_closed_errors is empty: set at least one error"));
  const leat::queue_runner_options no_error{.queue_closed_errors = {errc::aborted, errc{}}};
  CHECK_THROWS_AS(leat::queue_runner(q, no_error), leat::failure);
}

TEST_CASE("queue_runner: misuse ends the process with a message") {
  const std::string outside = leat_test::abort_message([] {
    leat::fifo_queue<int> q(2);
    leat::queue_runner runner(q);
    runner.add([] { return broken_step(); });
    leat::coordinator coord;
    runner.start(coord);
  });
  CHECK(contains(outside, "queue_runner::start() outside a scheduler"));
  const std::string late = leat_test::abort_message([] {
    leat::sim::virtual_scheduler s;
    leat::fifo_queue<int> q(2);
    leat::coordinator coord;
    leat::queue_runner runner(q);
    runner.add([] { return broken_step(); });
    runner.start(coord, s);
    runner.add([] { return broken_step(); });
  });
  CHECK(contains(late, "queue_runner::add() while it is running"));
}

TEST_CASE("queue_runner: runs an operation on its own scheduler if it has one") {
  leat::sim::virtual_scheduler given;
  leat::sim::virtual_scheduler own;
  std::vector<leat::scheduler*> ran;
  const auto note = [](std::vector<leat::scheduler*>& to) -> task<bool> {
    to.push_back(leat::scheduler::current());
    co_return false;
  };
  leat::fifo_queue<int> q(2, "numbers");
  leat::coordinator coord;
  leat::queue_runner runner(q);
  runner.add([&] { return note(ran); }, "first", &own);
  runner.add([&] { return note(ran); });
  CHECK(runner.running_producers() == 0);
  CHECK(runner.start(coord, given));
  CHECK(runner.running_producers() == 2);
  std::vector<std::string> names;
  for (const auto& r : coord.report()) names.push_back(r.name);
  std::sort(names.begin(), names.end());
  CHECK(names ==
        std::vector<std::string>{"queue_runner numbers enqueue 1", "queue_runner numbers first"});
  own.run_until_idle();
  CHECK(ran == std::vector<leat::scheduler*>{&own});
  CHECK_FALSE(q.is_closed());
  given.run_until_idle();
  CHECK(ran == std::vector<leat::scheduler*>{&own, &given});
  CHECK(q.is_closed());
  CHECK(runner.running_producers() == 0);
}

LEAT_TEST("queue_runner: a stop after its destruction does not reach its queue") {
  leat::fifo_queue<int> q(2);
  leat::coordinator coord;
  {
    counter a{q, 0};
    leat::queue_runner runner(q, {.queue_closed_errors = {errc::aborted}});
    runner.add([&] { return a.step(); });
    runner.start(coord);
    co_await coord.join();
  }
  CHECK(q.is_closed());
  coord.request_stop();  // must not reach the queue through a destroyed runner
}

// Starts a runner that does not end in time beside a task that fails. Returns the number of items
// and the error that the consumer receives. `own_cancel`: the runner has a cancel_op.
template <class Owner>
task<std::string> end_beside_failure(bool own_cancel) {
  Owner owner;
  leat::fifo_queue<int> q(10);
  leat::queue_runner_options options;
  const auto cancel = [&q]() -> task<> { co_return q.close_and_cancel(); };
  if (own_cancel) options.cancel_op.run = cancel;
  leat::queue_runner runner(q, options);
  counter a{q, 2};
  runner.add([&] { return a.step(); });
  runner.add([]() -> task<bool> {
    co_await leat::sleep_for(std::chrono::hours(1));
    co_return true;
  });
  runner.start(owner);
  owner.spawn([]() -> task<> {
    co_await leat::sleep_for(std::chrono::seconds(1));
    throw leat::failure(errc::data_loss, "a file is damaged");
  }());
  int items = 0;
  std::string end = "the end";
  try {
    while (co_await q.pop()) ++items;
  } catch (const leat::failure& e) {
    end = std::to_string(items) + " items, " + e.what();
  }
  try {
    co_await owner.join();
  } catch (const leat::failure&) {
  }
  co_return end;
}

LEAT_TEST("queue_runner: its queue fails with the error of another task of its owner") {
  for (const bool own_cancel : {false, true}) {
    const std::string coordinated = co_await end_beside_failure<leat::coordinator>(own_cancel);
    const std::string grouped = co_await end_beside_failure<task_group>(own_cancel);
    CHECK(coordinated.starts_with("2 items, a file is damaged"));
    CHECK(grouped == coordinated);
  }
}

LEAT_TEST("queue_runner: a stop cancels waiting pushes of other tasks to its queue") {
  counting_runner r(1, 1000);
  r.runner.start(r.coord);
  bool cancelled = false;
  task_group others;
  others.spawn([](leat::fifo_queue<int>& to, bool& said) -> task<> {
    said = co_await code_of(to.push(7)) == errc::cancelled;
  }(r.q, cancelled));
  for (int i = 0; i < 10; ++i) co_await leat::this_task::yield();
  r.coord.request_stop();
  co_await r.coord.join();
  co_await others.join();
  CHECK(cancelled);
}

LEAT_TEST("queue_runner: starts no operation after a stop") {
  leat::fifo_queue<int> q(1);
  leat::coordinator coord;
  leat::queue_runner runner(q);
  int calls = 0;
  runner.add([&calls]() {
    return [](int& n) -> task<bool> {
      ++n;
      co_await leat::this_task::yield();
      co_return n < 1000;
    }(calls);
  });
  runner.start(coord);
  for (int i = 0; i < 10; ++i) co_await leat::this_task::yield();
  const int before = calls;
  CHECK(before > 1);
  coord.request_stop();
  co_await coord.join();
  CHECK(calls <= before + 1);  // the call that was running
}

LEAT_TEST("queue_runner: started after a stop, it runs only its cancel_op") {
  leat::fifo_queue<int> q(4, "q");
  counter a{q, 3};
  int cancelled = 0;
  leat::queue_runner runner(q, count_cancels(cancelled));
  runner.add([&] { return a.step(); }, "op");
  leat::coordinator coord;
  coord.request_stop();
  runner.start(coord);
  std::vector<std::string> names;
  for (const auto& r : coord.report()) names.push_back(r.name);
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"queue_runner q close_on_stop", "queue_runner q op"});
  co_await coord.join();
  CHECK(a.next == 0);
  CHECK(cancelled == 1);
}

LEAT_TEST(
    "queue_runner: an error runs the cancel_op while another operation waits in the full queue") {
  int cancelled = 0;
  counting_runner r(1, 1000, count_cancels(cancelled));
  r.runner.add([] { return broken_step(); });
  r.runner.start(r.coord);
  CHECK(co_await message_of(r.coord.join()) == "boom");
  CHECK(cancelled == 1);
  CHECK(r.runner.last_start().exceptions_raised().empty());
}

LEAT_TEST("queue_runner: the cancel_op runs also when the only producer fails") {
  leat::fifo_queue<int> q(1);
  int cancelled = 0;
  leat::queue_runner runner(q, count_cancels(cancelled));
  runner.add([] { return broken_step(); });
  leat::coordinator coord;
  runner.start(coord);
  CHECK_THROWS_AS(co_await coord.join(), std::runtime_error);
  CHECK(cancelled == 1);
}

LEAT_TEST("queue_runner: a normal end with a cancel_op completes the join of the coordinator") {
  int cancelled = 0;
  counting_runner r(10, 3, count_cancels(cancelled));
  r.runner.start(r.coord);
  co_await r.coord.join();
  CHECK_FALSE(r.coord.should_stop());
  CHECK(r.q.is_closed());
  r.coord.request_stop();
  co_await r.coord.join();
  CHECK(cancelled == 0);
}

LEAT_TEST("queue_runner: an error of the close_op is secondary, and the queue throws it") {
  leat::queue_runner_options options;
  options.close_op.run = []() -> task<> { throw std::runtime_error("close"); };
  counting_runner r(10, 2, options);
  r.runner.start(r.coord);
  co_await r.coord.join();
  CHECK(r.coord.secondary_errors().size() == 1);
  CHECK(*co_await r.q.pop() == 0);
  CHECK(*co_await r.q.pop() == 1);
  CHECK_THROWS_WITH(co_await r.q.pop(), "close");
}

LEAT_TEST("queue_runner: a close_op that a stop cancels is not an error") {
  leat::queue_runner_options options;
  options.close_op.run = []() -> task<> { co_await leat::sleep_for(std::chrono::hours(1)); };
  counting_runner r(10, 2, options);
  r.runner.start(r.coord);
  co_await leat::sleep_for(std::chrono::seconds(1));
  CHECK(r.runner.running_producers() == 1);  // 1 until the close_op has ended
  CHECK_FALSE(r.runner.start(r.coord));
  r.coord.request_stop();
  co_await r.coord.join();
  CHECK(r.coord.secondary_errors().empty());
  CHECK(r.q.is_closed());
}

LEAT_TEST("queue_runner: keeps an error after an early join, and can start again") {
  leat::fifo_queue<int> q(10);
  bool fails = true;
  leat::queue_runner runner(q);
  runner.add([&]() -> task<bool> {
    if (!fails) co_return false;
    co_await task_steps::sleep_despite_stop(1h);
    throw std::runtime_error("late");
  });
  leat::coordinator coord;
  runner.start(coord);
  co_await leat::sleep_for(std::chrono::seconds(1));
  CHECK(leat_test::dump().find("queue_runner_handle.cpp") ==
        std::string::npos);  // a source file of the library
  coord.request_stop();
  co_await coord.join(
      {.grace = std::chrono::seconds(1), .stragglers = leat::straggler_policy::report});
  CHECK(runner.running_producers() == 1);
  co_await runner.last_start().join();
  CHECK(runner.running_producers() == 0);
  co_await coord.join();
  CHECK(coord.secondary_errors().size() == 1);
  coord.clear_stop();
  fails = false;
  CHECK(runner.start(coord));
  co_await coord.join();
}

LEAT_TEST("queue_runner: one stop ends two runners") {
  leat::fifo_queue<int> first(1);
  leat::fifo_queue<int> second(1);
  counter a{first, 1000};
  counter b{second, 1000};
  leat::queue_runner one(first);
  leat::queue_runner two(second);
  one.add([&] { return a.step(); });
  two.add([&] { return b.step(); });
  leat::coordinator coord;
  one.start(coord);
  two.start(coord);
  co_await leat::sleep_for(std::chrono::seconds(1));
  coord.request_stop();
  const int before = a.next + b.next;
  CHECK(before == 2);
  co_await leat::sleep_for(std::chrono::seconds(1));
  CHECK(a.next + b.next == before);
  co_await coord.join();
  CHECK(one.running_producers() + two.running_producers() == 0);
}

}  // namespace queue_runner_test
