// The start and end of functions of run_blocking() against stops, limits and the end of the
// scheduler. Each function that was called has completed, and none is called after its operation
// has ended without an effect.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>

#include <catch2/catch.hpp>

#include "leat/async.hpp"
#include "leat/base/error.hpp"
#include "support/effort.hpp"
#include "support/loops.hpp"

namespace blocking_race_test {

using namespace std::chrono_literals;
using leat::run_blocking;
using leat::task;
using leat::task_group;

std::size_t rounds() {
  return static_cast<std::size_t>(leat_test::from_environment("LEAT_RACE_ROUNDS", 20'000));
}

struct counts {
  std::atomic<std::size_t> begun{0};
  std::atomic<std::size_t> ended{0};
  std::size_t values = 0;
  std::size_t without_effect = 0;
};

/// Works for up to 20 us.
struct work {
  counts* seen;
  unsigned random;

  int operator()(std::stop_token stop) const {
    ++seen->begun;
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(random % 20'000);
    while (std::chrono::steady_clock::now() < end) {
      if (random % 3 == 0 && stop.stop_requested()) break;
    }
    ++seen->ended;
    return 1;
  }
};

task<> limited(leat::blocking_pool& pool, counts& seen, std::size_t rounds_left, unsigned seed) {
  std::mt19937 random(seed);
  for (; rounds_left > 0; --rounds_left) {
    const auto limit = std::chrono::nanoseconds(random() % 40'000);
    const work w{&seen, static_cast<unsigned>(random())};
    const auto [ec, value] =
        co_await leat::as_tuple(leat::with_timeout(run_blocking(pool, w), limit));
    ec ? ++seen.without_effect : ++seen.values;
    CHECK((ec ? value == 0 : value == 1));
  }
}

TEST_CASE("run_blocking: in a race with its limit, it has a value if the function was called",
          "[stress]") {
  leat::blocking_pool pool({.threads = 2});
  counts seen;
  leat::block_on([](leat::blocking_pool& p, counts& c) -> task<> {
    task_group group;
    for (unsigned i = 0; i < 4; ++i) group.spawn(limited(p, c, rounds() / 4, i));
    co_await group.join();
  }(pool, seen));
  CHECK(seen.begun == seen.ended);
  CHECK(seen.begun == seen.values);
  WARN(seen.values << " values, " << seen.without_effect << " without effect");
}

TEST_CASE("run_blocking: in a race with a stop, it has a value if the function was called",
          "[stress]") {
  leat::blocking_pool pool({.threads = 2});
  counts seen;
  leat::block_on([](leat::blocking_pool& p, counts& c) -> task<> {
    std::mt19937 random(1);
    for (std::size_t i = 0; i < rounds() / 4; ++i) {
      task_group group;
      for (int k = 0; k < 4; ++k) {
        group.spawn([](leat::blocking_pool& b, counts& s, unsigned r) -> task<> {
          const work w{&s, r};
          const auto [ec, value] = co_await leat::as_tuple(run_blocking(b, w));
          ec ? ++s.without_effect : ++s.values;
        }(p, c, static_cast<unsigned>(random())));
      }
      if (random() % 2 == 0) co_await leat::sleep_for(std::chrono::nanoseconds(random() % 40'000));
      group.request_stop();
      co_await group.join();
    }
  }(pool, seen));
  CHECK(seen.begun == seen.ended);
  CHECK(seen.begun == seen.values);
  WARN(seen.values << " values, " << seen.without_effect << " without effect");
}

TEMPLATE_TEST_CASE("run_blocking: when its scheduler ends at any time, no function runs afterwards",
                   "[stress]", leat_test::asio_loop, leat_test::embedded_loop) {
  leat::blocking_pool pool({.threads = 2});
  counts seen;
  std::mt19937 random(2);
  for (std::size_t i = 0; i < rounds() / 8; ++i) {
    task_group group;
    TestType loop;
    for (int k = 0; k < 4; ++k) {
      group.spawn_on(loop.get_scheduler(),
                     [](leat::blocking_pool& b, counts& s, unsigned r) -> task<> {
                       for (;;) {
                         const work w{&s, r};
                         switch (r % 3) {
                           case 0: co_await run_blocking(b, w); break;
                           case 1:
                             co_await leat::as_tuple(leat::with_timeout(run_blocking(b, w), 10us));
                             break;
                           default:
                             co_await leat::select(leat::sleep_for(20us), run_blocking(b, w));
                             break;
                         }
                       }
                     }(pool, seen, static_cast<unsigned>(random())));
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(random() % 60'000);
    while (std::chrono::steady_clock::now() < end) loop.run_one_turn();
    loop.end();
    const std::size_t begun = seen.begun;
    const std::size_t ended = seen.ended;
    if (begun != ended) {
      CHECK(begun == ended);
      break;
    }
    static_cast<void>(leat_test::is_cancelled(group));
  }
  CHECK(seen.begun == seen.ended);
  WARN(seen.begun.load() << " calls");
}

TEST_CASE("run_blocking: a pool that is destroyed at any time completes its functions",
          "[stress]") {
  counts seen;
  leat::block_on([](counts& c) -> task<> {
    std::mt19937 random(3);
    for (std::size_t i = 0; i < rounds() / 16; ++i) {
      std::optional<leat::blocking_pool> pool(std::in_place,
                                              leat::blocking_pool_options{.threads = 2});
      task_group group;
      for (int k = 0; k < 4; ++k) {
        group.spawn([](leat::blocking_pool& b, counts& s, unsigned r) -> task<> {
          const work w{&s, r};
          s.values += static_cast<std::size_t>(co_await run_blocking(b, w));
        }(*pool, c, static_cast<unsigned>(random())));
      }
      co_await leat::sleep_for(std::chrono::nanoseconds(random() % 60'000));
      pool.reset();
      co_await group.join();
    }
  }(seen));
  CHECK(seen.begun == seen.values);
}

}  // namespace blocking_race_test
