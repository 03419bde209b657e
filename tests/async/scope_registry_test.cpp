// The links between scopes: a stop of a scope reaches the scopes that were created in its tasks,
// whichever of them is destroyed first, and on whichever thread.

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "leat/async/loop/runtime.hpp"
#include "leat/async/loop/sync_wait.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "support/dump.hpp"
#include "support/leat_test.hpp"

namespace scope_registry_test {

using namespace std::chrono_literals;
using leat::task;
using leat::task_group;

LEAT_TEST("scope_registry: a stop reaches groups within groups at once", "[async]") {
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

LEAT_TEST("scope_registry: a group may outlive the group of the task that created it", "[async]") {
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

LEAT_TEST("scope_registry: a group in the middle of its siblings can be destroyed", "[async]") {
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

LEAT_TEST("scope_registry: a group created after the stop is stopped", "[async]") {
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
    if (co_await leat::this_task::stop_requested()) co_return;
  }
}

TEST_CASE("scope_registry: groups come and go on two threads during stops and dumps", "[async]") {
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
    outer.wait_join();
  }
}

TEST_CASE("scope_registry: a group is created on one thread and destroyed on another", "[async]") {
  leat::runtime rt({.threads = 2});
  task_group outer;
  std::unique_ptr<task_group> group;
  outer.spawn_on(rt.get_scheduler(0), [&]() -> task<> {
    group = std::make_unique<task_group>();
    group->spawn_on(rt.get_scheduler(1), []() -> task<> { co_await leat::sleep_for(1ms); });
    co_await group->join();
  });
  outer.wait_join();
  std::thread([&] { group.reset(); }).join();
  CHECK(leat_test::dump().find("task group") != std::string::npos);  // the outer one
}

}  // namespace scope_registry_test
