// The locks of the library, and the parker, which suspends a thread.

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/base/internal/biased_mutex.hpp"
#include "leat/base/internal/parker.hpp"
#include "leat/base/internal/thread_mutex.hpp"

namespace thread_mutex_test {

using namespace std::chrono_literals;

// Data under a lock. Each thread changes all parts, so a torn or lost change is visible.
struct guarded {
  std::array<long, 4> parts{};
  void change() {
    for (long& part : parts) part = part + 1;
  }
  [[nodiscard]] bool is(long count) const {
    for (const long part : parts) {
      if (part != count) return false;
    }
    return true;
  }
};

// Changes data under a lock: `rounds` times on each of several threads. Returns true if no change
// is torn or lost.
template <class Lock>
bool excludes_other_threads(auto& mutex, int count, long rounds) {
  guarded data;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < count; ++t) {
      threads.emplace_back([&] {
        for (long i = 0; i < rounds; ++i) {
          const Lock lock(mutex);
          data.change();
        }
      });
    }
  }
  return data.is(count * rounds);
}

TEST_CASE("thread_mutex: one thread at a time") {
  leat::detail::thread_mutex mutex;
  CHECK(excludes_other_threads<leat::detail::thread_lock>(mutex, 4, 20'000));
}

TEST_CASE("biased_mutex: is biased to its first thread until another thread locks it") {
  leat::detail::biased_mutex mutex;
  guarded data;
  const auto change = [&](long times) {
    for (long i = 0; i < times; ++i) {
      const leat::detail::biased_lock lock(mutex);
      data.change();
    }
  };
  change(1000);
  std::jthread([&] { change(1000); }).join();
  change(1000);
  CHECK(data.is(3000));
}

TEST_CASE("biased_mutex: a second thread waits while the first holds the lock") {
  // Only the moment of the revocation matters, so the test repeats it.
  for (int round = 0; round < 300; ++round) {
    leat::detail::biased_mutex mutex;
    REQUIRE(excludes_other_threads<leat::detail::biased_lock>(mutex, 3, 200));
  }
}

TEST_CASE("parker: sleeps until a wake-up, also an earlier one") {
  leat::detail::parker parker;
  parker.unpark();
  parker.park();
  leat::detail::parker other;
  std::jthread waker([&] { other.unpark(); });
  other.park();
}

TEST_CASE("parker: a deadline ends the sleep") {
  leat::detail::parker parker;
  CHECK_FALSE(parker.park_until(std::chrono::steady_clock::now() + 1ms));
  parker.unpark();
  CHECK(parker.park_until(std::chrono::steady_clock::now() - 1s));
  CHECK(parker.park_until(leat::no_deadline));
}

}  // namespace thread_mutex_test
