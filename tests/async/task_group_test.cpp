#include "leat/async/task_group.hpp"

#include <cstdio>
#include <cstdlib>

#include "async/manual_event.hpp"
#include "async/task_steps.hpp"
#include "support/leat_test.hpp"
#include "support/tracked.hpp"

namespace task_group_test {

using namespace task_steps;
using leat_test::manual_event;

task<void> wait_for(manual_event& event) { co_await event.wait(); }

LEAT_TEST("task_group: join waits for every task") {
  int n = 0;
  task_group group;
  for (int i = 0; i < 10; ++i) group.spawn(count_after(n, i * 1s));
  co_await group.join();
  CHECK(n == 10);
}

LEAT_TEST("task_group: spawn does not run the task in the call") {
  int n = 0;
  task_group group;
  group.spawn(count(n));
  CHECK(n == 0);
  CHECK(group.live_tasks() == 1);
  co_await group.join();
  CHECK(n == 1);
  CHECK(group.live_tasks() == 0);
}

// Spawns another task when it is destroyed.
struct spawns_at_end {
  spawns_at_end(task_group& g, int& n) noexcept : group(&g), count_of(n) {}
  spawns_at_end(spawns_at_end&& other) noexcept
      : group(std::exchange(other.group, nullptr)), count_of(other.count_of) {}
  ~spawns_at_end() {
    if (!group) return;
    CHECK(leat::scheduler::current_task() != nullptr);
    CHECK(group->live_tasks() == 1);
    group->spawn(count(count_of));
  }
  task_group* group;
  int& count_of;
};
task<void> destroy_at_end(spawns_at_end) { co_return; }

LEAT_TEST("task_group: a task lives until its parameters are destroyed") {
  int n = 0;
  task_group group;
  group.spawn(destroy_at_end(spawns_at_end(group, n)));
  co_await group.join();
  CHECK(n == 1);
}

LEAT_TEST("task_group: the name of a task has any length, and ends at a zero") {
  using namespace std::string_literals;
  const std::vector<std::string> names{"a", "a\0b"s, "\0"s, std::string(5000, 'x')};
  std::vector<std::string> found;
  task_group group;
  for (const std::string& name : names) {
    const auto body = [](std::vector<std::string>& seen) -> task<void> {
      seen.emplace_back(leat::scheduler::current_task()->name());
      co_return;
    };
    group.spawn(body(found), name);
  }
  co_await group.join();
  CHECK(found == std::vector<std::string>{"a", "a", "", std::string(5000, 'x')});
}

LEAT_TEST("task_group: an empty group joins at once") {
  task_group group;
  co_await group.join();
  CHECK(group.live_tasks() == 0);
}

LEAT_TEST("task_group: tasks may spawn into their own group") {
  struct tree {
    static task<void> grow(task_group& group, int depth, int& n) {
      ++n;
      if (depth == 0) co_return;
      group.spawn(grow(group, depth - 1, n));
      group.spawn(grow(group, depth - 1, n));
    }
  };
  int n = 0;
  task_group group;
  group.spawn(tree::grow(group, 9, n));
  co_await group.join();
  CHECK(n == 1023);
}

LEAT_TEST("task_group: a group can be used again after join") {
  int n = 0;
  task_group group;
  group.spawn(count(n));
  co_await group.join();
  group.spawn(count(n));
  co_await group.join();
  CHECK(n == 2);
}

LEAT_TEST("task_group: several tasks can join the same group") {
  int joined = 0;
  task_group work, joiners;
  work.spawn(sleep_long());
  const auto join = [](task_group& g, int& n) -> task<void> {
    co_await g.join();
    ++n;
  };
  for (int i = 0; i < 3; ++i) joiners.spawn(join(work, joined));
  co_await work.join();
  co_await joiners.join();
  CHECK(joined == 3);
}

LEAT_TEST("task_group: the first error stops the other tasks, and join() throws it") {
  const stopwatch time;
  task_group group;
  group.spawn(fail_after<void>("first", 1s));
  group.spawn(fail_after<void>("second", 2s));
  group.spawn(sleep_long());
  CHECK(co_await message_of(group.join()) == "first");
  CHECK(time.elapsed() == 1s);
}

LEAT_TEST("task_group: join() throws the first error even if it follows a stop") {
  task_group group;
  group.spawn(fail_when_stopped<void>("clean-up failed"));
  co_await leat::sleep_for(1s);
  group.request_stop();
  CHECK(co_await message_of(group.join()) == "clean-up failed");
}

LEAT_TEST("task_group: ignores `cancelled` from tasks after its request_stop()") {
  task_group group;
  for (int i = 0; i < 3; ++i) group.spawn(sleep_long());
  co_await leat::sleep_for(1s);
  CHECK(group.request_stop());
  CHECK(co_await message_of(group.join()) == "");
}

LEAT_TEST("task_group: `cancelled` without a stop request is an error") {
  const auto give_up = []() -> task<void> {
    throw leat::failure(errc::cancelled, "gave up");
    co_return;
  };
  task_group group;
  group.spawn(give_up());
  CHECK(co_await message_of(group.join()) == "gave up: cancelled");
}

TEST_CASE("task_group: a second request_stop() returns false") {
  task_group group;
  CHECK_FALSE(group.stop_requested());
  CHECK(group.request_stop());
  CHECK_FALSE(group.request_stop());
  CHECK(group.stop_requested());
}

LEAT_TEST("task_group: a task spawned after a stop starts and sees the stop") {
  bool began = false;
  bool stopped = false;
  task_group group;
  group.request_stop();
  group.spawn([](bool& b, bool& s) -> task<void> {
    b = true;
    s = leat::this_task::stop_requested();
    co_await leat::sleep_for(1h);
  }(began, stopped));
  CHECK(co_await message_of(group.join()) == "");
  CHECK(began);
  CHECK(stopped);
}

LEAT_TEST("task_group: a stop cancels the waits of awaited child tasks") {
  const auto outer = []() -> task<void> { co_await sleep_long(); };
  const stopwatch time;
  co_await run_and_stop(outer());
  CHECK(time.elapsed() == 1ms);
}

task<void> nest(int depth, int& cancelled) {
  task_group inner;
  if (depth > 0) {
    inner.spawn(nest(depth - 1, cancelled));
  } else {
    inner.spawn([](int& n) -> task<void> {
      if (co_await throws<leat::failure>(leat::sleep_for(1h))) ++n;
    }(cancelled));
  }
  co_await inner.join();
}

LEAT_TEST("task_group: nested groups are stopped with their parent, at any depth") {
  int cancelled = 0;
  task_group group;
  for (int i = 0; i < 3; ++i) group.spawn(nest(i * 4, cancelled));
  co_await leat::sleep_for(1s);
  group.request_stop();
  co_await group.join();
  CHECK(cancelled == 3);
}

LEAT_TEST("task_group: a group created in a stopped task is stopped from the start") {
  bool stopped = false;
  task_group group;
  group.request_stop();
  group.spawn([](bool& s) -> task<void> {
    const task_group inner;
    s = inner.stop_requested();
    co_return;
  }(stopped));
  co_await group.join();
  CHECK(stopped);
}

LEAT_TEST("task_group: a shielded group is not stopped with the task that made it") {
  bool stopped = true;
  task_group group;
  group.request_stop();
  group.spawn([](bool& s) -> task<void> {
    task_group inner(leat::shielded);
    s = inner.stop_requested();
    inner.spawn(sleep(1s));
    co_await inner.join();  // is not cancelled by the stop
    s = s || inner.stop_requested();
  }(stopped));
  co_await group.join();
  CHECK_FALSE(stopped);
}

LEAT_TEST("task_group: join() in a task of the same group throws failed_precondition") {
  task_group group("ring");
  std::string said;
  group.spawn([](task_group& g, std::string& text) -> task<void> {
    text = co_await message_of(g.join(), errc::failed_precondition);
  }(group, said));
  co_await group.join();
  CHECK(contains(said, "task group 'ring': join() in one of its own tasks would never return"));
}

LEAT_TEST("task_group: a stop reaches 10,000 tasks that wait") {
  manual_event never;
  int n = 0;
  task_group group;
  const auto wait = [](manual_event& e, int& c) -> task<void> {
    if (co_await throws<leat::failure>(e.wait())) ++c;
  };
  for (int i = 0; i < 10'000; ++i) group.spawn(wait(never, n));
  co_await leat::this_task::yield();
  group.request_stop();
  co_await group.join();
  CHECK(n == 10'000);
}

LEAT_TEST("task_group: a task may end while a stop is being delivered") {
  manual_event event;
  task_group group;
  for (int i = 0; i < 10; ++i) group.spawn(wait_for(event));
  co_await leat::this_task::yield();
  group.request_stop();  // adds the notice to the run queue
  event.set();           // adds the tasks to the run queue
  CHECK(co_await message_of(group.join()) == "");
}

LEAT_TEST("task_group: join() keeps waiting if the joining task is stopped") {
  manual_event event;
  bool joined = false;
  task_group inner, outer;
  inner.spawn(wait_for(event));
  outer.spawn([](task_group& g, bool& j) -> task<void> {
    co_await g.join();
    j = true;
  }(inner, joined));
  co_await leat::this_task::yield();
  outer.request_stop();
  for (int i = 0; i < 10; ++i) co_await leat::this_task::yield();
  CHECK_FALSE(joined);
  event.set();
  co_await outer.join();
  CHECK(joined);
}

LEAT_TEST("task_group: tasks and their objects are destroyed before join() returns") {
  leat_test::counts counts;
  const auto hold = [](leat_test::tracked) -> task<void> { co_await leat::sleep_for(1s); };
  task_group group;
  for (int i = 0; i < 5; ++i) group.spawn(hold(leat_test::tracked(counts, i)));
  co_await group.join();
  CHECK(counts.objects == 0);
}

TEST_CASE("task_group: destruction with live tasks ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::virtual_scheduler sched;
    task_group group;
    group.spawn_on(sched, sleep_long());
  });
  CHECK(contains(said, "task group '' destroyed while its tasks or threads are running"));
}

TEST_CASE("task_group: a forgotten join names the group, its tasks and the exception") {
  const auto forget = [](bool with_std_exception) {
    return leat_test::abort_message([&] {
      leat::block_on([](bool standard) -> task<void> {
        task_group group("fetchers");
        group.spawn(sleep_long(), "fetch a");
        co_await leat::this_task::yield();
        if (standard) throw std::runtime_error("the real error");
        throw 42;
      }(with_std_exception));
    });
  };
  const std::string said = forget(true);
  INFO(said);
  CHECK(contains(said, "task group 'fetchers' destroyed"));
  CHECK(contains(said, "fetch a"));
  CHECK(contains(said, "this exception was propagating: the real error"));
  CHECK(forget(false).find("propagating: object of type i, which is not") != said.npos);
}

LEAT_TEST("task_group: a callable that was spawned lives until its task has finished") {
  leat_test::counts counts;
  std::string seen;
  task_group group;
  {
    const std::string text(100, 'x');
    group.spawn([&seen, text, t = leat_test::tracked(counts, 1)]() -> task<void> {
      co_await leat::sleep_for(1ms);
      seen = text;
    });
  }
  group.spawn_on(leat::this_task::get_scheduler(), []() -> task<void> { co_return; });
  CHECK(counts.objects > 0);
  co_await group.join();
  CHECK(seen == std::string(100, 'x'));
  CHECK(counts.objects == 0);
}

LEAT_TEST("task_group: an exception of a spawned callable counts as an error of its task") {
  task_group group;
  group.spawn([]() -> task<void> { throw std::runtime_error("no task"); });
  CHECK(co_await message_of<std::runtime_error>(group.join()) == "no task");
}

TEST_CASE("task_group: spawn() outside a scheduler ends the process with a message") {
  const std::string said = leat_test::abort_message([] {
    task_group group;
    group.spawn(sleep_long());
  });
  CHECK(contains(said, "task_group::spawn() outside a scheduler"));
}

// ------------------------------------------------------------------------------ several threads

TEST_CASE("task_group: tasks run on the scheduler on which they were spawned") {
  leat::runtime rt({.threads = 3});
  std::vector<leat::scheduler*> seen(3);
  task_group group;
  for (std::size_t i = 0; i < 3; ++i) {
    group.spawn_on(rt.get_scheduler(i), [](leat::scheduler*& s) -> task<void> {
      s = leat::scheduler::current();
      co_return;
    }(seen[i]));
  }
  leat::block_on(group.join());
  for (std::size_t i = 0; i < 3; ++i) CHECK(seen[i] == &rt.get_scheduler(i));
}

TEST_CASE("task_group: a stop reaches tasks on other schedulers") {
  leat::runtime rt({.threads = 2});
  task_group group;
  for (std::size_t i = 0; i < 100; ++i) group.spawn_on(rt.get_scheduler(i % 2), sleep_long());
  group.request_stop();
  leat::block_on(group.join());
  CHECK(group.live_tasks() == 0);
}

TEST_CASE("task_group: wait_join throws the first error") {
  leat::runtime rt;
  task_group group;
  group.spawn_on(rt.get_scheduler(), fail_after<void>("first", 0s));
  group.spawn_on(rt.get_scheduler(), sleep_long());
  CHECK_THROWS_WITH(leat::block_on(group.join()), "first");
}

TEST_CASE("task_group: prints an error that was not read") {
  const auto said_by = [](bool read) {
    return leat_test::abort_message([read] {
      leat::block_on([](bool ask) -> task<> {
        task_group group("g");
        group.spawn(fail_after<void>("first", 0s));
        co_await leat::sleep_for(10ms);  // the task ends
        if (ask) CHECK(group.first_error() != nullptr);
      }(read));
      std::fputs("the end\n", stderr);
      std::abort();
    });
  };
  CHECK(said_by(true) == "the end\n");
  CHECK(said_by(false) == "leat: task group 'g': unreported error: first\nthe end\n");
}

TEST_CASE("task_group: a task on one scheduler joins tasks of another") {
  leat::runtime rt({.threads = 2});
  const auto body = [](leat::scheduler& other, int& n) -> task<void> {
    task_group group;
    for (int i = 0; i < 1000; ++i) group.spawn_on(other, count(n));
    co_await group.join();
  };
  int n = 0;
  rt.block_on(body(rt.get_scheduler(1), n));
  CHECK(n == 1000);
}

}  // namespace task_group_test
