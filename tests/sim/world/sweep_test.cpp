#include "leat/sim/world/sweep.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/detail/assert.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace sweep_test {

using namespace std::chrono_literals;
using leat::task;
using leat::sim::world;

// A service with a planted bug: it reads the balance and writes it after a wait.
struct account {
  int balance = 0;
};

task<> deposit(account& a, int amount) {
  const int before = a.balance;
  co_await leat::this_task::yield();  // any task may run here
  a.balance = before + amount;
}

task<> two_deposits(world& w) {
  account a;
  leat::task_group group;
  leat::fifo_queue<int> noise(2, "noise");
  group.spawn(deposit(a, 10), "first");
  // Unrelated tasks.
  group.spawn([](leat::fifo_queue<int>& q) -> task<> {
    for (int i = 0; i < 5; ++i) co_await q.push(i);
  }(noise));
  group.spawn([](leat::fifo_queue<int>& q) -> task<> {
    for (int i = 0; i < 5; ++i) co_await q.pop();
  }(noise));
  co_await leat::sleep_for(1ms * w.random().uniform_below(3));
  group.spawn(deposit(a, 5), "second");
  co_await group.join();
  if (a.balance != 15) throw std::runtime_error("a deposit was lost");
}

TEST_CASE("sweep: finds a planted bug and shows its decisions", "[sim]") {
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
  // Two or three unusual choices are sufficient: those that select the task between the read and
  // the write.
  std::size_t unusual = 0;
  for (const std::uint32_t c : script) unusual += c != 0 ? 1 : 0;
  CHECK(unusual <= 5);
  CHECK_THROWS_WITH(world(script, seed).run(two_deposits), "a deposit was lost");
}

TEST_CASE("sweep: returns the number of seeds and steps and the virtual time", "[sim]") {
  const auto result = leat::sim::sweep([](world&) -> task<> { co_await leat::sleep_for(1h); },
                                       {.first = 5, .count = 20});
  CHECK(result.seeds == 20);
  CHECK(result.virtual_time == 20h);
  CHECK(result.steps >= 40);
}

TEST_CASE("sweep: reports the schedule of a deadlock", "[sim]") {
  CHECK_THROWS_WITH(leat::sim::sweep([](world&) -> task<> {
                      leat::fifo_queue<int> q(1, "never");
                      co_await q.pop();
                    }),
                    Catch::Contains("pop from queue 'never'") && Catch::Contains("body begins"));
}

task<> sleep_for(leat::duration time) { co_await leat::sleep_for(time); }

task<> two_tasks(world& w) {
  leat::task_group group;
  for (int i = 0; i < 2; ++i) group.spawn(sleep_for(1ms * w.random().uniform_below(3)));
  co_await group.join();
}

std::string what_a_sweep_says(const world::body& b, const leat::sim::sweep_options& options) {
  try {
    leat::sim::sweep(b, options);
  } catch (const leat::sim::seed_failed& e) {
    return e.what();
  }
  return "nothing found";
}

TEST_CASE("sweep: reports a failure that does not repeat", "[sim]") {
  int runs = 0;
  const std::string what = what_a_sweep_says(
      [&runs](world&) -> task<> {
        if (++runs == 3) throw std::runtime_error("only the third run");
        co_return;
      },
      {.count = 10});
  CHECK_THAT(what, Catch::StartsWith("seed 3: only the third run\n"));
  CHECK_THAT(what, Catch::Contains("not repeatable: with the same decisions the run succeeded"));
}

TEST_CASE("sweep: reports a program whose second run diverges, if it checks for that", "[sim]") {
  int runs = 0;
  const world::body counts = [&runs](world&) -> task<> {
    co_await leat::sleep_for(1s);
    if (++runs == 6) co_await leat::this_task::yield();
  };
  CHECK(what_a_sweep_says(counts, {.count = 10}) == "nothing found");
  runs = 0;
  CHECK_THAT(what_a_sweep_says(counts, {.count = 10, .check_repeatable = true}),
             Catch::StartsWith("seed 3: a second run diverged at step 2") &&
                 Catch::Contains("replay: LEAT_SIM_SEED=3"));
  CHECK(leat::sim::sweep(two_tasks, {.count = 50, .check_repeatable = true}).seeds == 50);
}

TEST_CASE("sweep: shrinking does not take one broken invariant for another", "[sim]") {
  // Each run ends with one of two messages. With default choices only, it ends with "left".
  const world::body either = [](world& w) -> task<> {
    if (w.decisions().choose(2, "which") == 1) {
      w.report_violation("right, step " + std::to_string(w.steps()));
    } else {
      w.report_violation("left");
    }
    co_return;
  };
  std::string right;
  for (std::uint64_t seed = 1; right.empty(); ++seed) {
    world w(seed);
    try {
      w.run(either);
    } catch (const leat::sim::invariant_violation& e) {
      const std::string what = e.what();
      if (what.find("right") == std::string::npos) continue;
      right = what_a_sweep_says(either, {.first = seed, .count = 1});
    }
  }
  CHECK_THAT(right, Catch::Contains("right") && Catch::Contains("with 1 non-default decisions"));
}

TEST_CASE("sweep: reports a readable excerpt of a run without end", "[sim]") {
  const std::string what = what_a_sweep_says(
      [](world&) -> task<> {
        while (!co_await leat::this_task::stop_requested()) co_await leat::this_task::yield();
      },
      {.count = 1, .world = {.max_steps = 10'000}, .shrink_runs = 2});
  INFO(what);
  CHECK(what.find("did not finish after 10001 steps") != std::string::npos);
  CHECK(std::count(what.begin(), what.end(), '\n') < 3100);
  CHECK(what.find("lines left out)") != std::string::npos);
  CHECK(what.find("\n  step 1, 0 ms, thread 0: body begins\n") != std::string::npos);
  CHECK(what.find("\n  step 10001, 0 ms") != std::string::npos);
}

// Sets LEAT_SIM_SEED in its scope.
class wanted_seed {
 public:
  explicit wanted_seed(const char* seed) { ::setenv("LEAT_SIM_SEED", seed, 1); }
  ~wanted_seed() { ::unsetenv("LEAT_SIM_SEED"); }
  wanted_seed(const wanted_seed&) = delete;
  wanted_seed& operator=(const wanted_seed&) = delete;
};

TEST_CASE("sweep: prints the schedule of a given seed up to the end of the process", "[sim]") {
  const std::string said = leat_test::abort_message([] {
    const wanted_seed seed("18446744073709551615");
    leat::sim::sweep([](world&) -> task<> {
      co_await leat::sleep_for(1s);
      LEAT_ASSERT(false, "a bug");
    });
  });
  CHECK_THAT(said, Catch::Contains("step 1, 0 ms, thread 0: body begins\n") &&
                       Catch::Contains("step 2, 1000 ms, thread 0: body resumes after sleep") &&
                       Catch::Contains("a bug") &&
                       Catch::Contains("replay: LEAT_SIM_SEED=18446744073709551615"));
}

TEST_CASE("sweep: rejects an invalid LEAT_SIM_SEED", "[sim]") {
  for (const char* const wrong : {"seven", "7 ", "-1", "18446744073709551616"}) {
    const wanted_seed seed(wrong);
    CHECK_THROWS_AS(leat::sim::sweep([](world&) -> task<> { co_return; }), std::invalid_argument);
  }
}

}  // namespace sweep_test
