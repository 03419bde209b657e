#include "leat/sim/world/sweep.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "leat/base/internal/assert.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "support/leat_test.hpp"

namespace sweep_test {

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
  task_group group;
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

// Returns the failure that a sweep finds, or nothing.
std::optional<leat::sim::seed_failed> failure_of(const world::body& b,
                                                 const leat::sim::sweep_options& options) {
  try {
    leat::sim::sweep(b, options);
  } catch (const leat::sim::seed_failed& e) {
    return e;
  }
  return std::nullopt;
}

TEST_CASE("sweep: finds a planted bug and shows its decisions") {
  const auto found = failure_of(two_deposits, {.count = 1000, .replay = "./service"});
  REQUIRE(found);
  const std::string what = found->what();
  INFO(what);
  CHECK(contains(what, "a deposit was lost"));
  CHECK(contains(what, "LEAT_SIM_SEED=" + std::to_string(found->seed()) + " ./service"));
  CHECK(contains(what, "second"));
  // Two or three unusual choices are sufficient: those that select the task between the read and
  // the write.
  CHECK(std::ranges::count_if(found->script(), [](std::uint32_t c) { return c != 0; }) <= 5);
  CHECK_THROWS_WITH(world(found->script(), found->seed()).run(two_deposits), "a deposit was lost");
}

TEST_CASE("sweep: returns the number of seeds and steps and the virtual time") {
  const auto result = leat::sim::sweep([](world&) -> task<> { co_await leat::sleep_for(1h); },
                                       {.first = 5, .count = 20});
  CHECK(result.seeds == 20);
  CHECK(result.virtual_time == 21h);  // with the default schedule
  CHECK(result.steps >= 40);
}

TEST_CASE("sweep: reports the schedule of a deadlock") {
  CHECK_THROWS_WITH(leat::sim::sweep([](world&) -> task<> {
                      leat::fifo_queue<int> q(1, "never");
                      co_await q.pop();
                    }),
                    Catch::Contains("pop from queue 'never'") && Catch::Contains("body begins"));
}

task<> sleep_for(leat::duration time) { co_await leat::sleep_for(time); }

task<> two_tasks(world& w) {
  task_group group;
  for (int i = 0; i < 2; ++i) group.spawn(sleep_for(1ms * w.random().uniform_below(3)));
  co_await group.join();
}

std::string what_a_sweep_says(const world::body& b, const leat::sim::sweep_options& options) {
  const auto found = failure_of(b, options);
  return found ? found->what() : "nothing found";
}

TEST_CASE("sweep: reports a failure that does not repeat") {
  int runs = 0;
  const std::string what = what_a_sweep_says(
      [&runs](world&) -> task<> {
        if (++runs == 4) throw std::runtime_error("only the fourth run");
        co_return;
      },
      {.count = 10});
  CHECK_THAT(what, Catch::StartsWith("seed 3: only the fourth run\n"));
  CHECK_THAT(what, Catch::Contains("not repeatable: with the same decisions the run succeeded"));
}

TEST_CASE("sweep: reports a program whose second run diverges, if it checks for that") {
  int runs = 0;
  const world::body counts = [&runs](world&) -> task<> {
    co_await leat::sleep_for(1s);
    if (++runs == 8) co_await leat::this_task::yield();
  };
  CHECK(what_a_sweep_says(counts, {.count = 10}) == "nothing found");
  runs = 0;
  CHECK_THAT(what_a_sweep_says(counts, {.count = 10, .check_repeatable = true}),
             Catch::StartsWith("seed 3: a second run diverged at step 3") &&
                 Catch::Contains("replay: LEAT_SIM_SEED=3"));
  CHECK(leat::sim::sweep(two_tasks, {.count = 50, .check_repeatable = true}).seeds == 50);
}

TEST_CASE("sweep: shrinking does not take one broken invariant for another") {
  // "right" needs two unusual decisions; one of them alone leads to "left".
  const world::body either = [](world& w) -> task<> {
    const auto first = w.decisions().choose(2, "first"), second = w.decisions().choose(2, "second");
    if (first == 1 && second == 1) {
      w.report_violation("right, step " + std::to_string(w.steps()));
    } else if (first == 1 || second == 1) {
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
  CHECK_THAT(right, Catch::Contains("right") && Catch::Contains("with 2 non-default decisions"));
}

TEST_CASE("sweep: reports a readable excerpt of a run without end") {
  const std::string what = what_a_sweep_says(
      [](world&) -> task<> {
        while (!leat::this_task::stop_requested()) co_await leat::this_task::yield();
      },
      {.count = 1, .world = {.max_steps = 10'000}, .shrink_runs = 2});
  INFO(what);
  CHECK(contains(what, "did not finish after 10001 steps"));
  CHECK(std::count(what.begin(), what.end(), '\n') < 3100);
  CHECK(contains(what, "lines left out)"));
  CHECK(contains(what, "\n  step 1, 0 ms, thread 0: body begins\n"));
  CHECK(contains(what, "\n  step 10001, 0 ms"));
}

// Sets a variable of the environment in its scope.
class variable {
 public:
  variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~variable() { ::unsetenv(name_); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

 private:
  const char* const name_;
};

TEST_CASE("sweep: prints the schedule of a given seed up to the end of the process") {
  const std::string said = leat_test::abort_message([] {
    const variable seed("LEAT_SIM_SEED", "18446744073709551615");
    leat::sim::sweep([](world&) -> task<> {
      co_await leat::sleep_for(1s);
      LEAT_ASSERT(false, "a bug");
    });
  });
  CHECK_THAT(said, Catch::Contains("step 1, 0 ms, thread 0: body begins\n") &&
                       Catch::Contains("step 2, 1000 ms, thread 0: timer of body expires") &&
                       Catch::Contains("step 3, 1000 ms, thread 0: body resumes after sleep") &&
                       Catch::Contains("a bug") &&
                       Catch::Contains("replay: LEAT_SIM_SEED=18446744073709551615"));
}

TEST_CASE("sweep: rejects an invalid LEAT_SIM_SEED") {
  for (const char* const wrong : {"seven", "7 ", "-1", "18446744073709551616"}) {
    const variable seed("LEAT_SIM_SEED", wrong);
    CHECK_THROWS_AS(leat::sim::sweep([](world&) -> task<> { co_return; }), std::invalid_argument);
  }
}

TEST_CASE("sweep: rejects invalid LEAT_SIM_DECISIONS") {
  for (const char* const wrong : {"7", "7:", ":1", "7:1 8:1", "8:1,7:1", "7:1,7:1", "none"}) {
    const variable decisions("LEAT_SIM_DECISIONS", wrong);
    CHECK_THROWS_AS(leat::sim::sweep([](world&) -> task<> { co_return; }), std::invalid_argument);
  }
}

// ---- Which failure is reported, and how it is replayed.

// Fails in two ways with exceptions of one type. The second one needs fewer unusual decisions.
task<> two_failures(world& w) {
  const auto a = w.decisions().choose(10, "a");
  const auto b = w.decisions().choose(10, "b");
  co_await leat::this_task::yield();
  if (a == 7) throw std::logic_error("money was lost, " + std::to_string(b));
  if (b == 1) throw std::logic_error("the report has no title");
}

std::string message_of_seed(std::uint64_t seed, const world::body& b) {
  return error_of([&] { leat::sim::run(seed, b); });
}

TEST_CASE("sweep: a shrunk run fails with the same message, digits aside") {
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const std::string message = message_of_seed(seed, two_failures);
    if (message.empty()) continue;
    const std::string report = what_a_sweep_says(two_failures, {.first = seed, .count = 1});
    INFO(report);
    CHECK_THAT(report, Catch::StartsWith("seed " + std::to_string(seed) + ": " + message + "\n"));
    if (message.find("money") == message.npos || message == "money was lost, 0") continue;
    CHECK_THAT(report, Catch::Contains("\nshortest run found: money was lost, 0\n"));
    ++lost;
  }
  CHECK(lost > 5);
}

// Tasks wait for queues that stay empty, and only a decision makes the last one wait.
task<> wait_forever(world& w, std::string queue) {
  leat::fifo_queue<int> q(1, queue);
  if (w.decisions().choose(2, "does it wait?") == 1) co_await q.pop();
}

task<> three_waits(world& w) {
  task_group group;
  group.spawn(wait_forever(w, "needless"), "needless");
  group.spawn(wait_forever(w, "needed"), "needed");
  try {
    co_await group.join();
  } catch (const leat::failure&) {
    // stopped after the deadlock
  }
}

TEST_CASE("sweep: shrinking a deadlock leaves out tasks, but does not report another one") {
  int both = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::string message = message_of_seed(seed, three_waits);
    const bool needless = message.find("pop from queue 'needless'") != message.npos;
    const bool needed = message.find("pop from queue 'needed'") != message.npos;
    if (!needless && !needed) continue;
    const std::string report = what_a_sweep_says(three_waits, {.first = seed, .count = 1});
    INFO(report);
    if (!needless) CHECK_THAT(report, !Catch::Contains("pop from queue 'needless'"));
    if (!needed) CHECK_THAT(report, !Catch::Contains("pop from queue 'needed'"));
    if (!needless || !needed) continue;
    ++both;
    REQUIRE_THAT(report, Catch::Contains("\nshortest run found: deadlock: "));
    const std::string shortest = report.substr(report.find("shortest run found"));
    CHECK((shortest.find("pop from queue 'needless'") == shortest.npos) !=
          (shortest.find("pop from queue 'needed'") == shortest.npos));
  }
  CHECK(both > 3);
}

// Loses an update only if no decision is unusual.
task<> add_later(world& w, int& total) {
  co_await leat::sleep_for(1us * (1 + w.decisions().choose(100'000, "latency")));
  const int before = total;
  co_await leat::this_task::yield();
  total = before + 1;
}

task<> fails_by_default(world& w) {
  int total = 0;
  task_group group;
  group.spawn(add_later(w, total), "a");
  group.spawn(add_later(w, total), "b");
  co_await group.join();
  if (total != 2) throw std::logic_error("lost update");
}

TEST_CASE("sweep: runs the default schedule before the seeds") {
  const std::string report = what_a_sweep_says(fails_by_default, {.first = 5, .count = 20});
  CHECK_THAT(report, Catch::StartsWith("seed 5, default schedule: lost update\n"
                                       "replay: LEAT_SIM_SEED=5 LEAT_SIM_DECISIONS=default "));
  CHECK(leat::sim::sweep(fails_by_default, {.count = 0}).seeds == 0);
}

// Returns the variables of the replay that follows `heading` in a report.
struct replay {
  std::string seed, decisions;
};
replay replay_after(const std::string& report, const std::string& heading) {
  const auto at = report.find("LEAT_SIM_SEED=", report.find(heading));
  REQUIRE(at != report.npos);
  std::istringstream words(report.substr(at));
  std::string seed, decisions;
  words >> seed >> decisions;
  const auto value = [](const std::string& word) { return word.substr(word.find('=') + 1); };
  return {value(seed), decisions.starts_with("LEAT_SIM_DECISIONS=") ? value(decisions) : ""};
}

// Fails half of the time, and depends on decisions that do not matter.
task<> noisy(world& w) {
  std::uint32_t sum = 0;
  for (int i = 0; i < 10; ++i) {
    sum += w.decisions().choose(10, "noise");
    co_await leat::this_task::yield();
  }
  const std::uint32_t weight = w.decisions().choose(10, "weight");
  if (weight >= 5) {
    throw std::runtime_error("lost, noise " + std::to_string(sum) + ", weight " +
                             std::to_string(weight));
  }
}

TEST_CASE("sweep: a report replays both the run of the seed and the shortest run") {
  const std::string report = what_a_sweep_says(noisy, {});
  INFO(report);
  {
    const replay r = replay_after(report, "replay");
    CHECK(r.decisions.empty());
    const variable seed("LEAT_SIM_SEED", r.seed);
    CHECK(what_a_sweep_says(noisy, {}) == report);
  }
  const replay r = replay_after(report, "shortest run found");
  const auto shortest = report.substr(report.find("shortest run found: lost, noise 0, weight "));
  const variable seed("LEAT_SIM_SEED", r.seed), decisions("LEAT_SIM_DECISIONS", r.decisions);
  const std::string again = what_a_sweep_says(noisy, {});
  CHECK_THAT(again, Catch::StartsWith("seed " + r.seed + ": lost, noise 0, weight ") &&
                        Catch::Contains("replay: LEAT_SIM_SEED=" + r.seed +
                                        " LEAT_SIM_DECISIONS=" + r.decisions));
  CHECK(again.substr(again.find("\n  step 1")) == shortest.substr(shortest.find("\n  step 1")));
}

TEST_CASE("sweep: an assertion in a shrunk run prints the decisions that replay it") {
  const std::string said = leat_test::abort_message([] {
    leat::sim::sweep([](world& w) -> task<> {
      const auto which = w.decisions().choose(3, "which");
      co_await leat::this_task::yield();
      const auto unusual = w.decisions().choose(100'000, "unusual");
      LEAT_ASSERT(which != 1 || unusual != 0, "a bug in an unusual run");
      if (which == 1) throw std::logic_error("found");
    });
  });
  CHECK_THAT(said, Catch::Contains("a bug in an unusual run") &&
                       Catch::Contains(" LEAT_SIM_DECISIONS=0:1"));
}

TEST_CASE("sweep: counts the failures of all seeds by message, if asked to") {
  constexpr std::uint64_t count = 300;
  std::uint64_t lost = 0, untitled = 0;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    const std::string message = message_of_seed(seed, two_failures);
    if (message.starts_with("money")) ++lost;
    if (message.starts_with("the report")) ++untitled;
  }
  REQUIRE(lost > 10);
  REQUIRE(untitled > 10);
  const auto found = failure_of(two_failures, {.count = count, .count_failures = true});
  REQUIRE(found);
  INFO(found->what());
  CHECK(found->failures() == lost + untitled);
  CHECK_THAT(found->what(),
             Catch::StartsWith(std::to_string(lost + untitled) + " of 301 runs failed:\n") &&
                 Catch::Contains("\n  " + std::to_string(lost) + " times, first seed ") &&
                 Catch::Contains("\n  " + std::to_string(untitled) + " times, first seed ") &&
                 Catch::Contains("\nseed " + std::to_string(found->seed()) + ": ") &&
                 Catch::Contains("\nschedule, with 1 non-default decisions"));
  CHECK(leat::sim::sweep(two_tasks, {.count = 10, .count_failures = true}).seeds == 10);
}

}  // namespace sweep_test
