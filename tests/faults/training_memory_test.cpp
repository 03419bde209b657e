// A training in a monitored session whose n-th allocation fails: it ends with that error,
// everything closed, and the next one goes on from a whole checkpoint.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "faults/failing_allocations.hpp"
#include "leat/core/sync_wait.hpp"
#include "leat/train/monitored_session.hpp"
#include "support/effort.hpp"
#include "support/temp_dir.hpp"

namespace training_memory_test {

using leat::task;

constexpr std::int64_t steps = 2;

// Steps in one session, each saved; gives the last.
task<std::int64_t> train(std::string directory) {
  std::int64_t step = 0;
  std::int64_t sum = 0;
  leat::checkpoint_registry state("sum");
  state.add("global_step", step);
  state.add("sum", sum);
  leat::monitored_session_options o;
  o.supervised.logdir = directory;
  o.supervised.state = &state;
  o.save_checkpoint_steps = 1;
  leat::monitored_session s(o);
  const std::function<task<>()> add = [&]() -> task<> {
    sum += ++step;
    co_return;
  };
  const std::function<task<>()> body = [&]() -> task<> {
    for (std::int64_t i = 0; i < steps; ++i) co_await s.run(add);
  };
  co_await s.managed(body);
  if (sum != step * (step + 1) / 2) throw leat::failure(leat::errc::data_loss, "half a step");
  co_return step;
}

TEST_CASE("monitored_session: without memory it ends, and the next one goes on", "[faults]") {
  int failed = 0;
  bool reached = true;
  constexpr int step_of_n = leat_test::slow_build ? 25 : 5;
  for (int n = 0; reached; n += step_of_n) {  // each syncs its files: all n take 15 seconds
    INFO("allocation " << n);
    const temp_dir dir;
    const std::ptrdiff_t before = leat_test::alive;
    leat_test::until_failure = n;
    const auto run = [&] { static_cast<void>(leat::sync_wait(train(dir.path()))); };
    if (leat_test::run_once(run, reached) == leat_test::end::out_of_memory) ++failed;
    CHECK(leat_test::alive - before <= 64);
    const std::int64_t step = leat::sync_wait(train(dir.path()));  // what was saved is whole
    CHECK(step >= steps);
    CHECK(step <= 2 * steps);
    REQUIRE(n < 100'000);
  }
  CHECK(failed > 10);
}

}  // namespace training_memory_test
