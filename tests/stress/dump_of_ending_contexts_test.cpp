// Dumps on one thread while another one makes contexts, polls them until their tasks have ended and
// destroys them. A dump never uses a destroyed scheduler.

#include <atomic>
#include <chrono>
#include <sstream>
#include <thread>

#include <asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "leat/async.hpp"
#include "leat/base/internal/sanitizers.hpp"

namespace dump_of_ending_contexts_test {

using namespace std::chrono_literals;
using leat::task;
using leat::task_group;

constexpr int rounds = 2'000;

task<void> yield_three_times() {
  for (int i = 0; i < 3; ++i) co_await leat::this_task::yield();
}

// Calls `round` repeatedly while another thread dumps.
template <class Round>
void dump_meanwhile(Round round) {
  // With libstdc++ 12, clang's thread sanitizer does not see that the last std::shared_ptr of an
  // answer is released after the others.
  if (LEAT_TSAN) return;
  std::atomic<bool> done{false};
  std::atomic<int> dumps{0};
  std::thread dumper([&] {
    while (!done) {
      std::ostringstream out;
      leat::dump(out, leat::dump_format::text, 1ms);
      ++dumps;
    }
  });
  for (int i = 0; i < rounds; ++i) round();
  done = true;
  dumper.join();
  CHECK(dumps > 0);
}

TEST_CASE("dump: a polled context may be destroyed as soon as its tasks have ended", "[stress]") {
  dump_meanwhile([] {
    asio::io_context io;
    task_group group("polled");
    group.spawn_on(leat::get_scheduler(io), yield_three_times());
    while (group.live_tasks() > 0) io.poll();
  });
}

TEST_CASE("dump: a polled embedded scheduler may be destroyed as soon as its tasks have ended",
          "[stress]") {
  dump_meanwhile([] {
    leat::embedded_scheduler scheduler;
    task_group group("embedded");
    group.spawn_on(scheduler, yield_three_times());
    while (group.live_tasks() > 0) scheduler.run_ready();
    // A dump may count as work until the scheduler has answered.
    while (!scheduler.idle()) scheduler.run_ready();
  });
}

}  // namespace dump_of_ending_contexts_test
