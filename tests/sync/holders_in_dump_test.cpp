// Locks in a dump: their holders, and tasks that wait for each other.

#include <atomic>
#include <regex>
#include <stop_token>
#include <thread>

#include "leat/coordination/coordinator.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/sync.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace holders_in_dump_test {

using leat::mutex;
using leat_test::dump;

const std::string here =
    R"( at holders_in_dump_test\.cpp:\d+ in holders_in_dump_test::)";  // for an expression
bool matches(const std::string& text, const std::string& expression) {
  return std::regex_search(text, std::regex(expression));
}

task<> hold(mutex& m, leat::duration time) {
  const auto lock = co_await m.lock();
  co_await leat::sleep_for(time);
}

task<> lock_then_acquire(mutex& m, leat::semaphore& s) {
  const auto lock = co_await m.lock();
  co_await leat::sleep_for(1ms);
  const auto permit = co_await s.acquire();
}
task<> acquire_then_lock(mutex& m, leat::semaphore& s) {
  const auto permit = co_await s.acquire();
  co_await leat::sleep_for(1ms);
  const auto lock = co_await m.lock();
}

// Returns the dump after a time, and ends the group.
task<std::string> dump_after(leat::duration time, task_group& group) {
  co_await leat::sleep_for(time);
  std::string text = dump();
  co_await stop_and_join(group);
  co_return text;
}

LEAT_TEST("dump: names the holder of a mutex, the time, and the place where it was locked") {
  mutex index("index");
  task_group group("jobs");
  group.spawn(hold(index, 1h), "writer");
  co_await leat::sleep_for(1s);
  group.spawn(hold(index, 1h), "reader");
  co_await leat::sleep_for(2s);
  const std::string text = dump();
  const std::string json = dump(leat::dump_format::json);
  co_await stop_and_join(group);
  INFO(text);
  INFO(json);
  CHECK(
      matches(text, "reader: lock mutex 'index', held by 'writer' for 3\\.000 s" + here + "hold"));
  CHECK(matches(text, "\nmutex 'index', held for 3\\.000 s" + here +
                          "hold, 1 operation waits\n  lock of reader,"));
  CHECK(matches(json, R"j("type":"mutex","name":"index",)j"));
  CHECK(matches(
      json, R"j("holder":\{"id":"\d+\.\d+","at":\{[^}]*"line":\d+[^}]*\},"seconds":3\.000\})j"));
}

LEAT_TEST("dump: the holder of a mutex is the task that received it after a wait") {
  mutex index("index");
  task_group group("jobs");
  group.spawn(hold(index, 1s), "first");
  co_await leat::sleep_for(1ms);
  group.spawn(hold(index, 1h), "second");
  co_await leat::sleep_for(1ms);
  group.spawn(hold(index, 1h), "third");
  const std::string text = co_await dump_after(3s, group);
  INFO(text);
  CHECK(matches(text, "third: lock mutex 'index', held by 'second' for 2\\.002 s" + here));
}

LEAT_TEST("dump: names the writer that holds a shared_mutex") {
  leat::shared_mutex table("table");
  task_group group("jobs");
  group.spawn(
      [](leat::shared_mutex& m) -> task<> {
        const auto lock = co_await m.lock();
        co_await leat::sleep_for(1h);
      }(table),
      "writer");
  co_await leat::sleep_for(1s);
  group.spawn(
      [](leat::shared_mutex& m) -> task<> { const auto lock = co_await m.lock_shared(); }(table),
      "reader");
  const std::string text = co_await dump_after(500ms, group);
  INFO(text);
  CHECK(matches(text,
                "reader: lock_shared shared_mutex 'table', held by 'writer' for 1\\.500 s" + here));
}

task<> lock_both(mutex& first, mutex& second) {
  const auto a = co_await first.lock();
  co_await leat::sleep_for(1ms);
  const auto b = co_await second.lock();
}
LEAT_TEST("dump: two tasks that lock two mutexes in different order wait for each other") {
  mutex a("a");
  mutex b("b");
  task_group group;
  group.spawn(lock_both(a, b), "one");
  group.spawn(lock_both(b, a), "two");
  co_await leat::sleep_for(1s);
  const std::string text = dump();
  const std::string json = dump(leat::dump_format::json);
  co_await stop_and_join(group);
  INFO(text);
  CHECK(contains(text, "these wait for each other: "));
  CHECK(matches(text,
                "'one' \\(lock mutex 'b', held by 'two' for 1\\.000 s" + here + "lock_both\\)"));
  CHECK(matches(text,
                "'two' \\(lock mutex 'a', held by 'one' for 1\\.000 s" + here + "lock_both\\)"));
  CHECK(contains(json, R"("cycles":[{"certain":true,"members":[)"));
}

TEST_CASE("world: a deadlock names the locks that tasks wait for") {
  leat::sim::world w(1, {.threads = 2, .preemption = 0});
  std::string what;
  try {
    w.run([](leat::sim::world& in) -> task<> {
      mutex a("a");
      mutex b("b");
      task_group group;
      group.spawn_on(in.thread(0), lock_both(a, b), "one");
      group.spawn_on(in.thread(1), lock_both(b, a), "two");
      co_await group.join();
    });
  } catch (const leat::sim::deadlock& e) {
    what = e.what();
  }
  INFO(what);
  CHECK(contains(what, "these wait for each other: "));
  CHECK(matches(what, "\\(lock mutex 'b', held by 'two' for 0\\.001 s"));
}

LEAT_TEST("dump: a task that locks a mutex twice waits for itself") {
  mutex m("index");
  task_group group;
  group.spawn(lock_both(m, m), "only");
  const std::string text = co_await dump_after(1s, group);
  INFO(text);
  CHECK(matches(text,
                "this waits for itself: 'only' \\(lock mutex 'index', held by 'only' for "
                "1\\.000 s" +
                    here + "lock_both\\) -> 'only'"));
}

LEAT_TEST("dump: a guard that another task returns ends the wait for itself") {
  mutex m("index");
  bool locked = false;
  task_group group;
  mutex::guard moved;
  group.spawn([](mutex& of, mutex::guard& to, bool& again) -> task<> {
    to = co_await of.lock();
    const auto second = co_await of.lock();
    again = static_cast<bool>(second);
  }(m, moved, locked));
  co_await leat::sleep_for(1ms);
  CHECK_FALSE(locked);
  moved.unlock();
  co_await group.join();
  CHECK(locked);
}

LEAT_TEST("dump: finds a probable cycle over a mutex and a semaphore") {
  mutex index("index");
  leat::semaphore connections(1, "connections");
  task_group group;
  group.spawn(lock_then_acquire(index, connections), "one");
  group.spawn(acquire_then_lock(index, connections), "two");
  const std::string text = co_await dump_after(1s, group);
  INFO(text);
  CHECK(contains(text, "these probably wait for each other: "));
  CHECK(contains(text, "'one' (acquire semaphore 'connections' (0 of 1 free))"));
  CHECK(matches(text, "'two' \\(lock mutex 'index', held by 'one' for 1\\.000 s" + here));
}

// The producer holds the mutex and waits for space, which the consumer makes when it has a permit;
// the holder of the permit waits for the mutex.
LEAT_TEST("dump: finds a probable cycle over a mutex, a queue and a semaphore") {
  mutex index("index");
  leat::fifo_queue<int> jobs(1, "jobs");
  leat::semaphore connections(1, "connections");
  task_group group;
  group.spawn(
      [](leat::fifo_queue<int>& q, leat::semaphore& s) -> task<> {
        co_await q.pop();
        co_await leat::sleep_for(2ms);
        const auto permit = co_await s.acquire();
        co_await q.pop();
      }(jobs, connections),
      "consumer");
  co_await leat::sleep_for(1ms);
  group.spawn(acquire_then_lock(index, connections), "client");
  group.spawn(
      [](mutex& m, leat::fifo_queue<int>& q) -> task<> {
        const auto lock = co_await m.lock();
        for (int i = 0; i < 3; ++i) co_await q.push(i);
      }(index, jobs),
      "producer");
  const std::string text = co_await dump_after(1s, group);
  INFO(text);
  CHECK(contains(text, "these probably wait for each other: "));
  for (const char* part : {"'producer' (push to queue 'jobs' (1 of 1))",
                           "'consumer' (acquire semaphore 'connections' (0 of 1 free))",
                           "'client' (lock mutex 'index', held by 'producer' for "}) {
    CHECK(contains(text, part));
  }
}

LEAT_TEST("dump: reports no cycle if another task may return a permit") {
  mutex index("index");
  leat::semaphore connections(2, "connections");
  task_group group;
  group.spawn(
      [](leat::semaphore& s) -> task<> {
        const auto permit = co_await s.acquire();
        co_await leat::sleep_for(1h);
      }(connections),
      "other");
  group.spawn(lock_then_acquire(index, connections), "one");
  group.spawn(acquire_then_lock(index, connections), "two");
  const std::string text = co_await dump_after(1s, group);
  INFO(text);
  CHECK_FALSE(contains(text, "wait for each other"));
}

TEST_CASE("dump: names a thread of a coordinator that holds a mutex") {
  mutex m("index");
  leat::coordinator c("training");
  std::atomic<bool> locked{false};
  std::atomic<bool> enough{false};
  c.start_thread("writer", [&](const std::stop_token&) {
    const auto guard = leat::block_on(m.lock());
    locked = true;
    while (!enough) std::this_thread::yield();
  });
  while (!locked) std::this_thread::yield();
  c.start_thread("reader",
                 [&](const std::stop_token&) { const auto guard = leat::block_on(m.lock()); });
  std::string text;
  while (!contains(text, "held by 'writer'")) text = dump();
  enough = true;
  leat::block_on(c.join());
  INFO(text);
  CHECK(matches(text, "thread reader: lock mutex 'index', held by 'writer' for \\d\\.\\d+ s"));
}

TEST_CASE("dump: a thread without a name holds a mutex") {
  mutex m("index");
  auto guard = leat::block_on(m.lock());
  std::thread waiting([&] { const auto second = leat::block_on(m.lock()); });
  std::string text;
  while (!contains(text, "lock of a thread")) text = dump();
  guard.unlock();
  waiting.join();
  INFO(text);
  CHECK(matches(text, "mutex 'index', held for \\d\\.\\d+ s" + here));
}

}  // namespace holders_in_dump_test
