// Concurrent stops, ends and wake-ups on several threads. Each task must end once. Other errors
// show only as a hang or under a sanitizer.

#include <atomic>
#include <thread>

#include "support/leat_test.hpp"

namespace stop_race_test {

constexpr int rounds = 300;

task<void> nap_until_stopped(std::atomic<int>& ended) {
  try {
    for (int i = 0;; ++i) co_await leat::sleep_for(1us * (i % 20));
  } catch (const leat::failure&) {
  }
  ++ended;
}

TEST_CASE("task_group: a stop from an OS thread reaches tasks that start, wait and wake",
          "[async][stress]") {
  leat::runtime rt({.threads = 2});
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> ended{0};
    task_group group;
    for (std::size_t i = 0; i < 8; ++i) {
      group.spawn_on(rt.get_scheduler(i % 2), nap_until_stopped(ended));
    }
    if (round % 3 == 0) std::this_thread::yield();
    group.request_stop();
    leat::block_on(group.join());
    REQUIRE(ended == 8);
  }
}

TEST_CASE("task_group: two stops and the normal end can coincide", "[async][stress]") {
  leat::runtime rt({.threads = 2});
  for (int round = 0; round < rounds; ++round) {
    int first = 0;
    std::atomic<int> ended{0};
    {
      task_group group;
      for (std::size_t i = 0; i < 4; ++i) {
        group.spawn_on(rt.get_scheduler(i % 2), [](std::atomic<int>& n) -> task<void> {
          co_await throws<leat::failure>(leat::sleep_for(1us));
          ++n;
        }(ended));
      }
      std::atomic<int> firsts{0};
      std::thread other([&] { firsts += group.request_stop(); });
      firsts += group.request_stop();
      other.join();
      leat::block_on(group.join());
      first = firsts;
    }
    REQUIRE(first == 1);
    REQUIRE(ended == 4);
  }
}

TEST_CASE("task_group: a nested group can be created, stopped from outside and destroyed",
          "[async][stress]") {
  leat::runtime rt({.threads = 2});
  const auto nest = [](leat::scheduler& other, std::atomic<int>& ended) -> task<void> {
    task_group inner;
    inner.spawn(nap_until_stopped(ended));
    inner.spawn_on(other, nap_until_stopped(ended));
    co_await inner.join();
  };
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> ended{0};
    task_group group;
    for (std::size_t i = 0; i < 4; ++i) {
      group.spawn_on(rt.get_scheduler(i % 2), nest(rt.get_scheduler((i + 1) % 2), ended));
    }
    for (int i = 0; i < round % 7; ++i) std::this_thread::yield();
    group.request_stop();
    leat::block_on(group.join());
    REQUIRE(ended == 8);
  }
}

TEST_CASE("task_group: the joining thread destroys the group while its last task still ends",
          "[async][stress]") {
  leat::runtime rt({.threads = 2});
  for (int round = 0; round < 10 * rounds; ++round) {
    task_group group;
    group.spawn_on(rt.get_scheduler(static_cast<std::size_t>(round % 2)),
                   []() -> task<void> { co_return; }());
    if (round % 2 != 0) group.request_stop();
    leat::block_on(group.join());
  }
}

TEST_CASE("task_group: the first of two errors on two threads wins, the other is dropped",
          "[async][stress]") {
  leat::runtime rt({.threads = 2});
  const auto fail = [](int n) -> task<void> {
    co_await leat::this_task::yield();
    throw n;
  };
  for (int round = 0; round < rounds; ++round) {
    task_group group;
    group.spawn_on(rt.get_scheduler(0), fail(0));
    group.spawn_on(rt.get_scheduler(1), fail(1));
    int caught = -1;
    try {
      leat::block_on(group.join());
    } catch (const int n) {
      caught = n;
    }
    REQUIRE((caught == 0 || caught == 1));
  }
}

TEST_CASE("runtime: a thread that sleeps is woken by every post", "[async][stress]") {
  // Without spinning, the scheduler sleeps and is woken in every step.
  for (const int spins : {0, 50}) {
    leat::runtime rt({.threads = 2, .spins_before_sleep = spins});
    const auto step = [](std::atomic<int>& n) -> task<void> {
      ++n;
      co_return;
    };
    std::atomic<int> n{0};
    for (int round = 0; round < 1000; ++round) {
      task_group group;
      group.spawn_on(rt.get_scheduler(0), step(n));
      group.spawn_on(rt.get_scheduler(1), step(n));
      leat::block_on(group.join());
    }
    REQUIRE(n == 2000);
  }
}

}  // namespace stop_race_test
