// The time from a stop request to the end of thousands of suspended tasks.

#include <algorithm>
#include <chrono>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "leat/queue/fifo_queue.hpp"

namespace stop_latency_test {

using leat::task;
using clock_type = std::chrono::steady_clock;

task<> stop_many(int count, std::vector<double>& milliseconds) {
  leat::fifo_queue<int> q(1);
  leat::task_group group;
  for (int i = 0; i < count; ++i) {
    group.spawn([](leat::fifo_queue<int>& from) -> task<> { co_await from.pop(); }(q));
  }
  while (q.statistics().waiting_pops < static_cast<std::size_t>(count)) {
    co_await leat::this_task::yield();
  }
  const auto begin = clock_type::now();
  group.request_stop();
  co_await group.join();
  milliseconds.push_back(
      std::chrono::duration<double, std::milli>(clock_type::now() - begin).count());
}

TEST_CASE("stop: ends 10,000 suspended tasks within the limit", "[stress]") {
#if LEAT_ASAN || LEAT_TSAN
  constexpr int rounds = 3;
#else
  constexpr int rounds = 50;
#endif
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) leat::block_on(stop_many(10'000, times));
  std::sort(times.begin(), times.end());
  const double p99 = times[times.size() - 1 - times.size() / 100];
  WARN("10,000 tasks: median " << times[times.size() / 2] << " ms, p99 " << p99 << " ms");
#if !LEAT_ASAN && !LEAT_TSAN
  CHECK(p99 < 500);  // ten times the time on an idle machine
#endif
  times.clear();
  for (int i = 0; i < rounds / 3; ++i) leat::block_on(stop_many(100'000, times));
  std::sort(times.begin(), times.end());
  WARN("100,000 tasks: median " << times[times.size() / 2] << " ms, worst " << times.back()
                                << " ms");
#if !LEAT_ASAN && !LEAT_TSAN
  CHECK(times.back() < 5000);
#endif
}

}  // namespace stop_latency_test
