// The queues in a dump, and every form of operation that waits for them.

#include <atomic>
#include <regex>
#include <thread>

#include <asio/bind_executor.hpp>
#include <asio/io_context.hpp>

#include "leat/coordination/coordinator.hpp"
#include "leat/queue.hpp"
#include "leat/sim/world/world.hpp"
#include "queue/operation/queue_tasks.hpp"
#include "support/dump.hpp"
#include "support/foreign_coroutine.hpp"
#include "support/leat_test.hpp"

namespace queues_in_dump_test {

using leat::fifo_queue;
using leat_test::dump;

// Whether the text has a line of this operation below its queue.
bool has_operation(const std::string& text, const std::string& queue, const std::string& what) {
  return std::regex_search(
      text, std::regex("(^|\n)queue '" + queue + "' \\([^\n]*\n(  [^\n]*\n)*?  " + what +
                       ", at queues_in_dump_test\\.cpp:\\d+ in "));
}

TEST_CASE("dump: lists queues without waiting operations, with fill level and state") {
  fifo_queue<int> requests(4, "requests"), without_limit(leat::unbounded, "log"), over(2, "over");
  REQUIRE(requests.try_push(1));
  REQUIRE(requests.try_push(2));
  over.close();
  const std::string text = dump();
  INFO(text);
  CHECK(contains(text,
                 "queue 'requests' (2 of 4)\nqueue 'log' (0)\nqueue 'over' (0 of 2, closed)\n"));
}

TEMPLATE_LIST_TEST_CASE("dump: lists queues of every order", "[queue]", all_queues) {
  const auto q = TestType::make(3);
  CHECK(contains(dump(), "queue 'q' (0 of 3)\n"));
}

TEST_CASE("dump: lists queues of tensors") {
  leat::padding_fifo_queue padding({{leat::dtype::int64, {leat::unknown_dimension}, "x"}}, 6,
                                   "padding");
  leat::tensor_queue<fifo_queue<leat::tensor_tuple>> tensors({{leat::dtype::int64, {}, "x"}}, 7U,
                                                             "tensors");
  const std::string text = dump();
  INFO(text);
  CHECK(contains(text, "queue 'padding' (0 of 6, weight 0)\n"));
  CHECK(contains(text, "queue 'tensors' (0 of 7)\n"));
}

TEST_CASE("dump: omits a destroyed queue") {
  {
    const fifo_queue<int> gone(4, "gone");
  }
  CHECK_FALSE(contains(dump(), "gone"));
}

TEST_CASE("dump: lists waiting Asio handlers") {
  asio::io_context context;
  fifo_queue<int> replies(4, "replies"), full(1, "full");
  REQUIRE(full.try_push(1));
  int ended = 0;
  replies.async_pop(
      asio::bind_executor(context, [&](std::error_code, std::optional<int>) { ++ended; }));
  full.async_push(2, asio::bind_executor(context, [&](std::error_code, bool) { ++ended; }));
  const std::string text = dump();
  replies.close();
  full.close_and_cancel();
  context.run();
  INFO(text);
  CHECK(contains(text, "queue 'replies' (0 of 4), 1 operation waits\n"));
  CHECK(has_operation(text, "replies", "pop of an Asio handler"));
  CHECK(has_operation(text, "full", "push of an Asio handler"));
  CHECK(ended == 2);
}

task<> pop_two(fifo_queue<int>& q) { co_await q.pop_many(2); }
task<> choose(fifo_queue<int>& q) { co_await leat::select(q.pop(), leat::sleep_for(1h)); }

LEAT_TEST("dump: lists tasks and coroutines that wait on a queue") {
  fifo_queue<int> q(4, "lines"), idle(4, "idle");
  task_group group("readers");
  REQUIRE(q.try_push(1));
  group.spawn(pop_two(q), "reader 0");
  group.spawn(choose(q), "chooser");
  const leat_test::foreign_coroutine stranger =
      [](fifo_queue<int>& from) -> leat_test::foreign_coroutine { co_await from.pop(); }(idle);
  co_await leat::this_task::yield();
  const std::string text = dump();
  co_await stop_and_join(group);
  idle.close();
  while (!stranger.handle.done()) co_await leat::this_task::yield();
  stranger.handle.destroy();
  INFO(text);
  CHECK(contains(text, "queue 'lines' (0 of 4), 2 operations wait\n"));
  CHECK(std::regex_search(text, std::regex("\n  pop of reader 0, at [^\n]*, 1 of 2 done\n")));
  CHECK(std::regex_search(text, std::regex("\n  pop of chooser, at [^\n]*, in a select\n")));
  CHECK(has_operation(text, "idle", "pop of a coroutine"));
}

TEST_CASE("dump: lists threads that wait on a queue") {
  fifo_queue<int> work(4, "work"), other(4, "other");
  leat::coordinator c("training");
  c.start_thread("writer", [&](const std::stop_token&) { leat::block_on(work.pop()); });
  std::thread plain([&] { leat::block_on(other.pop()); });
  while (work.statistics().waiting_pops == 0 || other.statistics().waiting_pops == 0) {
    std::this_thread::yield();
  }
  const std::string text = dump();
  other.close();
  plain.join();
  c.request_stop();
  leat::block_on(c.join());
  INFO(text);
  CHECK(has_operation(text, "work", "pop of thread writer"));
  CHECK(has_operation(text, "other", "pop of a thread"));
}

TEST_CASE("dump: reports a waiting close of a queue") {
  asio::io_context context;
  fifo_queue<int> q(1, "ending");
  REQUIRE(q.try_push(1));
  q.async_push(2, asio::bind_executor(context, [](std::error_code, bool) {}));
  q.close();
  const std::string text = dump();
  const std::string json = dump(leat::dump_format::json);
  q.close_and_cancel();
  context.run();
  INFO(text);
  CHECK(
      contains(text, "queue 'ending' (1 of 1), a close waits for the pushes, 1 operation waits\n"));
  CHECK(contains(json, R"("closed":false,"close_waits":true,)"));
}

TEST_CASE("dump: JSON lists queues and their operations") {
  asio::io_context context;
  fifo_queue<int> q(4, "replies"), log(leat::unbounded, "log");
  q.async_pop(asio::bind_executor(context, [](std::error_code, std::optional<int>) {}));
  const std::string json = dump(leat::dump_format::json);
  q.close();
  context.run();
  INFO(json);
  CHECK(contains(json,
                 R"j("queues":[{"name":"replies","words":"queue 'replies' (0 of 4)","size":0,)j"
                 R"j("capacity":4,"closed":false,"close_waits":false,"refused":0,)j"
                 R"j("waiting":[{"verb":"pop",)j"
                 R"j("waiter":"handler","name":"","id":null,"select":false,"at":{)j"));
  CHECK(contains(json,
                 R"j("asked":1,"done":0}]},{"name":"log","words":"queue 'log' (0)","size":0,)j"
                 R"j("capacity":null,"closed":false,"close_waits":false,"refused":0,)j"
                 R"j("waiting":[]})j"));
}

LEAT_TEST("dump: a scope's own report lists no queues") {
  fifo_queue<int> q(4, "lines");
  leat::coordinator c("late");
  c.spawn(
      [](fifo_queue<int>& from) -> task<> {
        while (co_await from.pop()) {
        }
      }(q),
      "reader");
  co_await leat::this_task::yield();
  const auto reports = c.report();
  q.close();
  co_await c.join();
  REQUIRE(reports.size() == 1);
  CHECK_FALSE(contains(reports[0].position, "\nqueue"));
}

// Two threads make and destroy queues with waiting operations while a third thread dumps.
TEST_CASE("dump: works while queues are created and destroyed") {
  std::atomic<bool> enough{false};
  const auto make_queues = [&enough] {
    asio::io_context context;
    while (!enough) {
      fifo_queue<int> q(2, "short-lived");
      static_cast<void>(q.try_push(1));
      q.async_pop_many(
          2, asio::bind_executor(context, [](std::error_code, std::optional<std::vector<int>>) {}));
      q.close();
      context.run();
      context.restart();
    }
  };
  std::thread one(make_queues), two(make_queues);
  bool seen = false;
  for (int i = 0; i < 300 || !seen; ++i) seen = contains(dump(), "queue 'short-lived' (") || seen;
  enough = true;
  one.join();
  two.join();
  CHECK(seen);
}

// The queues in a dump and the behaviour of simulated threads during a dump depend only on the
// seed.
TEST_CASE("dump: is determined by the seed in a simulation") {
  const auto dumps_of = [](std::uint64_t seed) {
    std::string dumps;
    leat::sim::world w(seed, {.threads = 2, .preemption = 1});
    w.run([&dumps](leat::sim::world& in) -> task<> {
      fifo_queue<int> shared(2, "shared");
      task_group group("threads");
      group.spawn_on(in.thread(1), [](fifo_queue<int>& into) -> task<> {
        for (int i = 0; i < 8; ++i) {
          fifo_queue<int> own(1, "own");
          co_await own.push(i);
          co_await into.push(i);
        }
        into.close();
      }(shared));
      while (co_await shared.pop()) {
        std::ostringstream out;
        leat::dump(out, 0s);
        dumps += out.str().substr(out.str().find("queue '"));
      }
      co_await group.join();
    });
    return dumps;
  };
  std::string all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string once = dumps_of(seed);
    CHECK(once == dumps_of(seed));
    all += once;
  }
  CHECK(contains(all, "queue 'shared' (1 of 2)\nqueue 'own' ("));
}

}  // namespace queues_in_dump_test
