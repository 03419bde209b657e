#include "leat/async/loop/runtime.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "async/task_steps.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "support/child_process.hpp"
#include "support/leat_test.hpp"

namespace runtime_test {

using leat::runtime;

task<int> give(int n) { co_return n; }
task<std::thread::id> thread_id() { co_return std::this_thread::get_id(); }

std::size_t threads_of_process() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(threads), end(threads)));
}

TEST_CASE("runtime: starts exactly the requested number of threads") {
  const std::size_t before = threads_of_process();
  {
    runtime rt({.threads = 3});
    CHECK(rt.size() == 3);
    CHECK(rt.block_on(give(1)) == 1);
    CHECK(threads_of_process() == before + 3);
  }
  // A joined thread stays in /proc for a moment.
  while (threads_of_process() > before) std::this_thread::yield();
  CHECK(threads_of_process() == before);
}

TEST_CASE("runtime: next_scheduler() returns the schedulers in turn") {
  runtime rt({.threads = 3});
  for (std::size_t i = 0; i < 7; ++i) CHECK(&rt.next_scheduler() == &rt.get_scheduler(i % 3));
}

TEST_CASE("runtime: next_scheduler() returns each scheduler equally often to many threads") {
  constexpr std::size_t threads = 4;
  constexpr std::size_t calls = 3000;
  runtime rt({.threads = 3});
  std::vector<std::vector<leat::scheduler*>> returned(threads);
  {
    std::vector<std::jthread> callers;
    for (auto& mine : returned) {
      callers.emplace_back([&] {
        for (std::size_t i = 0; i < calls; ++i) mine.push_back(&rt.next_scheduler());
      });
    }
  }
  std::multiset<leat::scheduler*> all;
  for (const auto& mine : returned) all.insert(mine.begin(), mine.end());
  for (std::size_t i = 0; i < rt.size(); ++i) {
    CHECK(all.count(&rt.get_scheduler(i)) == threads * calls / rt.size());
  }
}

TEST_CASE("runtime: rejects 0 threads") {
  CHECK_THAT(refusal([] { const runtime rt({.threads = 0}); }),
             Catch::StartsWith("runtime_options::threads is 0: use 1 or more"));
}

// Returns the error for a thread that cannot be started. With `room_for_one`, memory remains for
// one stack, so the second thread fails. Otherwise the first one fails.
std::string refusal_of_threads(bool room_for_one) {
  return leat_test::run_in_child([room_for_one]() -> std::string {
    pthread_attr_t stack;
    ::pthread_attr_init(&stack);
    // Without room_for_one, the stack is larger than every address space.
    const std::size_t size = std::size_t{1} << (room_for_one ? 30 : 47);
    ::pthread_attr_setstacksize(&stack, size);
    ::pthread_setattr_default_np(&stack);
    if (room_for_one) {
      std::size_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t most = pages * static_cast<std::size_t>(::getpagesize()) + size + size / 2;
      const rlimit memory{most, most};
      ::setrlimit(RLIMIT_AS, &memory);
    }
    try {
      const runtime rt({.threads = 2});
      return "started";
    } catch (const leat::failure& e) {
      if (e.code() != std::errc::resource_unavailable_try_again) return "another code";
      return e.what();
    }
  });
}

TEST_CASE("runtime: the error for a thread that cannot be started names it and a remedy") {
  if (LEAT_TSAN) return;  // it ends a child process that starts a thread
  CHECK_THAT(refusal_of_threads(false),
             Catch::StartsWith("runtime: thread 1 of 2 cannot be started: raise"));
  if (LEAT_ASAN) return;  // the sanitizer needs more address space
  CHECK_THAT(refusal_of_threads(true),
             Catch::StartsWith("runtime: thread 2 of 2 cannot be started: raise"));
}

TEST_CASE("runtime: block_on() returns the result or throws the error") {
  runtime rt;
  CHECK(rt.block_on(give(7)) == 7);
  const auto fail = []() -> task<int> {
    throw std::runtime_error("failed");
    co_return 0;
  };
  CHECK_THROWS_WITH(rt.block_on(fail()), "failed");
}

TEST_CASE("runtime: block_on runs the task on the first scheduler's thread") {
  runtime rt({.threads = 2});
  const std::thread::id first = rt.block_on(thread_id());
  CHECK(first != std::this_thread::get_id());
  CHECK(rt.block_on(thread_id()) == first);
  const auto current_scheduler = []() -> task<leat::scheduler*> {
    co_return &leat::this_task::get_scheduler();
  };
  CHECK(rt.block_on(current_scheduler()) == &rt.get_scheduler(0));
}

TEST_CASE("runtime: several threads may call block_on") {
  runtime rt;
  std::atomic<int> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 100; ++i) sum += rt.block_on(give(1));
    });
  }
  for (std::thread& t : callers) t.join();
  CHECK(sum == 400);
}

TEST_CASE("runtime: every scheduler has a thread of its own") {
  runtime rt({.threads = 3});
  std::vector<std::thread::id> ids(3);
  task_group group;
  for (std::size_t i = 0; i < 3; ++i) {
    group.spawn_on(rt.get_scheduler(i),
                   [](std::thread::id& id) -> task<void> { id = co_await thread_id(); }(ids[i]));
  }
  leat::block_on(group.join());
  CHECK(std::set<std::thread::id>(ids.begin(), ids.end()).size() == 3);
}

TEST_CASE("runtime: its threads have names") {
  runtime rt({.threads = 2});
  const auto name = []() -> task<std::string> {
    char text[16] = {};
    ::pthread_getname_np(::pthread_self(), text, sizeof text);
    co_return text;
  };
  CHECK(rt.block_on(name()) == "leat 0");
}

TEST_CASE("runtime: timers work on every thread") {
  runtime rt({.threads = 2});
  std::atomic<int> woken{0};
  task_group group;
  for (std::size_t i = 0; i < 20; ++i) {
    group.spawn_on(rt.get_scheduler(i % 2), [](std::atomic<int>& n) -> task<void> {
      co_await leat::sleep_for(1ms);
      ++n;
    }(woken));
  }
  leat::block_on(group.join());
  CHECK(woken == 20);
}

TEST_CASE("runtime: ends at once if it never ran a task") {
  for (int i = 0; i < 20; ++i) runtime rt({.threads = 2});
}

TEST_CASE("runtime: its destructor waits for tasks that are about to end") {
  task_group group;
  bool done = false;
  {
    runtime rt;
    group.spawn_on(rt.get_scheduler(), [](bool& d) -> task<void> {
      co_await leat::sleep_for(5ms);
      d = true;
    }(done));
  }
  CHECK(done);
  CHECK(group.live_tasks() == 0);
}

TEST_CASE("runtime: works without spinning") {
  runtime rt({.threads = 2, .spins_before_sleep = 0});
  const auto ping = [](leat::scheduler& other, int& n) -> task<void> {
    task_group group;
    for (int i = 0; i < 100; ++i) {
      group.spawn_on(other, task_steps::count(n));
      co_await group.join();
    }
  };
  int n = 0;
  rt.block_on(ping(rt.get_scheduler(1), n));
  CHECK(n == 100);
}

}  // namespace runtime_test
