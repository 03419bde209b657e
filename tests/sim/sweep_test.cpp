#include "leat/sim/sweep.hpp"

#include <chrono>
#include <string>

#include <catch2/catch.hpp>

#include "leat/core/sleep.hpp"
#include "leat/core/task_group.hpp"
#include "leat/core/this_task.hpp"
#include "leat/sync/fifo_queue.hpp"

namespace sweep_test {

using namespace std::chrono_literals;
using leat::task;
using leat::sim::world;

// A service with a planted bug: the balance is read, and written after a wait.
struct account {
  int balance = 0;
};

task<> deposit(account& a, int amount) {
  const int before = a.balance;
  co_await leat::this_task::yield();  // anybody may come between
  a.balance = before + amount;
}

task<> two_deposits(world& w) {
  account a;
  leat::task_group group;
  leat::fifo_queue<int> noise(2, "noise");
  group.spawn(deposit(a, 10), "first");
  // What has nothing to do with it.
  group.spawn([](leat::fifo_queue<int>& q) -> task<> {
    for (int i = 0; i < 5; ++i) co_await q.push(i);
  }(noise));
  group.spawn([](leat::fifo_queue<int>& q) -> task<> {
    for (int i = 0; i < 5; ++i) co_await q.pop();
  }(noise));
  co_await leat::sleep_for(1ms * w.random().below(3));
  group.spawn(deposit(a, 5), "second");
  co_await group.join();
  if (a.balance != 15) throw std::runtime_error("a deposit was lost");
}

TEST_CASE("sweep: finds a planted bug, and shows what it takes", "[sim]") {
  std::string what;
  std::uint64_t seed = 0;
  std::vector<std::uint32_t> script;
  try {
    leat::sim::sweep(two_deposits, {.count = 1000, .replay = "./service"});
  } catch (const leat::sim::seed_failed& e) {
    what = e.what();
    seed = e.seed();
    script = e.script();
  }
  INFO(what);
  REQUIRE(seed > 0);
  CHECK(what.find("a deposit was lost") != std::string::npos);
  CHECK(what.find("LEAT_SIM_SEED=" + std::to_string(seed) + " ./service") != std::string::npos);
  CHECK(what.find("second") != std::string::npos);
  // Two or three choices are enough for it: who goes between the two.
  std::size_t unusual = 0;
  for (const std::uint32_t c : script) unusual += c != 0 ? 1 : 0;
  CHECK(unusual <= 5);
  CHECK_THROWS_WITH(world(script, seed).run(two_deposits), "a deposit was lost");
}

TEST_CASE("sweep: counts what it has seen", "[sim]") {
  const auto result = leat::sim::sweep([](world&) -> task<> { co_await leat::sleep_for(1h); },
                                       {.first = 5, .count = 20});
  CHECK(result.seeds == 20);
  CHECK(result.virtual_time == 20h);
  CHECK(result.steps >= 40);
}

TEST_CASE("sweep: a deadlock has its schedule too", "[sim]") {
  CHECK_THROWS_WITH(leat::sim::sweep([](world&) -> task<> {
                      leat::fifo_queue<int> q(1, "never");
                      co_await q.pop();
                    }),
                    Catch::Contains("pop from queue 'never'") && Catch::Contains("body begins"));
}

}  // namespace sweep_test
