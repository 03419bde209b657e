// A watchdog reports tasks while others are created and destroyed at a high rate, and while loops
// and further watchdogs come and go. It reads no task that has ended; the sanitizers check this.

#include <atomic>
#include <chrono>
#include <thread>

#include <asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "leat/async.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace long_turns_race_test {

using namespace std::chrono_literals;
using leat::task;
using leat::task_group;

// Holds the loop for longer than the threshold now and then.
task<> work(int number) {
  co_await leat::this_task::yield();
  if (number % 50 != 0) co_return;
  const auto end = std::chrono::steady_clock::now() + 3ms;
  while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
}

task<> spawn_many(std::chrono::steady_clock::time_point end) {
  while (std::chrono::steady_clock::now() < end) {
    leat::fifo_queue<int> queue(4, "short-lived");
    static_cast<void>(queue.try_push(1));
    task_group group("short-lived");
    for (int i = 0; i < 100; ++i) group.spawn(work(i), i % 2 == 0 ? "even" : "");
    co_await group.join();
  }
}

TEST_CASE("warn_on_long_turns: reads no task that has ended", "[stress]") {
  std::atomic<std::uint64_t> reports{0};
  const auto count = [&reports](const leat::long_turn& turn) {
    reports += to_text(turn).empty() ? 0U : 1U;
  };
  const auto end = std::chrono::steady_clock::now() + 2s;
  const auto is_over = [end] { return std::chrono::steady_clock::now() >= end; };
  const leat::warn_on_long_turns watchdog(1ms,
                                          {.on_report = count, .reports_per_minute = 1'000'000});
  leat::runtime rt({.threads = 2});
  std::thread guards([&] {
    while (!is_over()) {
      const leat::warn_on_long_turns other(1ms, {.on_report = count});
      std::this_thread::sleep_for(5ms);
    }
  });
  std::thread loops([&] {
    while (!is_over()) {
      asio::io_context io;
      task_group group("polled");
      group.spawn_on(leat::get_scheduler(io), work(0));
      while (group.live_tasks() > 0) io.poll();
      static_cast<void>(leat::metrics(1ms));
    }
  });
  rt.block_on([](leat::runtime& runs, std::chrono::steady_clock::time_point until) -> task<> {
    task_group group;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      group.spawn_on(runs.get_scheduler(i), spawn_many(until));
    }
    co_await group.join();
  }(rt, end));
  guards.join();
  loops.join();
  CHECK(reports > 0);
}

}  // namespace long_turns_race_test
