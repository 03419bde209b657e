// The links between scopes: a stop of a scope reaches the scopes that were created in its tasks,
// whichever of them is destroyed first, and on whichever thread.

#include <atomic>
#include <thread>

#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace scope_registry_test {

LEAT_TEST("scope_registry: a stop reaches groups within groups at once") {
  task_group outer;
  bool inner_stopped = false;
  outer.spawn([&]() -> task<> {
    task_group inner;
    task_group innermost;
    outer.request_stop();
    inner_stopped = inner.stop_requested() && innermost.stop_requested();
    co_return;
  });
  co_await outer.join();
  CHECK(inner_stopped);
}

LEAT_TEST("scope_registry: a group may outlive the group of the task that created it") {
  std::unique_ptr<task_group> inner;
  {
    task_group outer;
    outer.spawn([&]() -> task<> {
      inner = std::make_unique<task_group>();
      co_return;
    });
    co_await outer.join();
  }
  CHECK(!inner->stop_requested());
  inner->request_stop();
  co_await inner->join();
}

LEAT_TEST("scope_registry: a group in the middle of its siblings can be destroyed") {
  task_group outer;
  int stopped = 0;
  outer.spawn([&]() -> task<> {
    auto first = std::make_unique<task_group>();
    auto second = std::make_unique<task_group>();
    auto third = std::make_unique<task_group>();
    second.reset();
    outer.request_stop();
    stopped = int(first->stop_requested()) + int(third->stop_requested());
    co_return;
  });
  co_await outer.join();
  CHECK(stopped == 2);
}

task<> sleep_long() { co_await leat::sleep_for(1000h); }

task<> nest(int depth, std::string& seen) {
  task_group first("first " + std::to_string(depth));
  task_group second("second " + std::to_string(depth));
  first.spawn(sleep_long());
  second.spawn(depth > 0 ? nest(depth - 1, seen) : sleep_long());
  co_await leat::this_task::yield();
  if (depth == 0) seen = leat_test::dump();
  co_await second.join();
  co_await first.join();
}

LEAT_TEST("scope_registry: a dump lists groups at every depth") {
  task_group outer("outer");
  std::string seen;
  outer.spawn(nest(3, seen));
  co_await leat::sleep_for(1ms);
  outer.request_stop();
  co_await outer.join();
  for (const char* const name : {"'outer'", "'first 3'", "'second 3'", "'first 2'", "'second 2'",
                                 "'first 1'", "'second 1'", "'first 0'", "'second 0'"}) {
    INFO(name);
    CHECK(contains(seen, name));
  }
}

LEAT_TEST("scope_registry: a dump lists a group after a stop and after the end of its parent") {
  const auto lists = [](const char* name) {
    return leat_test::dump().find(name) != std::string::npos;
  };
  std::vector<std::unique_ptr<task_group>> orphans;
  {
    task_group outer("outer");
    outer.spawn([&]() -> task<> {
      for (const char* const name : {"one", "two", "three"}) {
        orphans.push_back(std::make_unique<task_group>(name));
        orphans.back()->spawn(sleep_long());
      }
      co_return;
    });
    co_await outer.join();
    CHECK(lists("'two'"));
    orphans[1]->request_stop();
    co_await orphans[1]->join();
    orphans.erase(orphans.begin() + 1);
    CHECK(!lists("'two'"));
  }
  CHECK(lists("'one'"));
  CHECK(lists("'three'"));
  for (const auto& g : orphans) g->request_stop();
  for (const auto& g : orphans) co_await g->join();
  orphans.clear();
  CHECK(!lists("'one'"));
}

LEAT_TEST("scope_registry: a group created after the stop is stopped") {
  task_group outer;
  bool stopped = false;
  outer.spawn([&]() -> task<> {
    outer.request_stop();
    const task_group late;
    stopped = late.stop_requested();
    co_return;
  });
  co_await outer.join();
  CHECK(stopped);
}

// Creates groups until it is stopped, each with a task that waits.
task<> make_groups(std::atomic<int>& made) {
  for (;;) {
    task_group group;
    group.spawn([]() -> task<> { co_await leat::sleep_for(20us); });
    ++made;
    co_await group.join();
    co_await leat::this_task::yield();
    if (leat::this_task::stop_requested()) co_return;
  }
}

TEST_CASE("scope_registry: groups come and go on two threads during stops and dumps") {
  leat::runtime rt({.threads = 2});
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> made{0};
    task_group outer;
    for (std::size_t i = 0; i < 4; ++i) {
      outer.spawn_on(rt.get_scheduler(i % 2), make_groups(made), "maker");
    }
    while (made < 50) std::this_thread::yield();
    if (round % 4 == 0) static_cast<void>(leat_test::dump());
    outer.request_stop();
    leat::block_on(outer.join());
  }
}

TEST_CASE("scope_registry: a group is created on one thread and destroyed on another") {
  leat::runtime rt({.threads = 2});
  task_group outer;
  std::unique_ptr<task_group> group;
  outer.spawn_on(rt.get_scheduler(0), [&]() -> task<> {
    group = std::make_unique<task_group>();
    group->spawn_on(rt.get_scheduler(1), []() -> task<> { co_await leat::sleep_for(1ms); });
    co_await group->join();
  });
  leat::block_on(outer.join());
  std::thread([&] { group.reset(); }).join();
  CHECK(leat_test::dump().find("task group") != std::string::npos);  // the outer one
}

}  // namespace scope_registry_test
