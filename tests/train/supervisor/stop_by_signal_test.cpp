// A supervised job that simulated signals stop at any time, and that continues afterwards.

#include "leat/train/supervisor/supervisor.hpp"
#include "train/supervised.hpp"

namespace stop_by_signal_test {

using leat::supervisor;
using leat::sim::world;
using leat_test::learner;

constexpr std::int64_t last_step = 30;

// The weight changes twice in a step, before and after a wait.
task<> learn(supervisor& sv, learner& l) {
  while (l.step < last_step) {
    const auto here = co_await sv.step();
    l.weight += 0.25;
    co_await leat::sleep_for(10s);
    l.weight += 0.25;
    ++l.step;
  }
}

task<> raise_sometime(world& w) {
  co_await leat::sleep_for(std::chrono::milliseconds(w.random().uniform_below(100'000)));
  static_cast<void>(w.raise(SIGTERM));
}

// Runs the job until it has finished or a signal has stopped it, and returns its step.
task<std::int64_t> run_job(world& w) {
  learner l;
  leat::supervisor_options o = l.options();
  o.step_grace = 1min;
  supervisor sv(o);
  leat::task_group other("other");
  const leat::stop_on_signal guard(sv, {SIGTERM});
  other.spawn(raise_sometime(w));
  CHECK(co_await message_of(sv.managed([&] { return learn(sv, l); })) == "");
  CHECK((sv.stopped() || l.step == last_step));
  CHECK(l.weight == 1 + 0.5 * static_cast<double>(l.step));
  other.request_stop();
  co_await other.join();
  co_return l.step;
}

TEST_CASE("supervisor: a job that signals stop at any time loses no step", "[train]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    world w(seed);
    w.run([](world& in) -> task<> {
      std::int64_t step = 0;
      int runs = 0;
      while (step < last_step && ++runs < 100) {
        const std::int64_t reached = co_await run_job(in);
        CHECK(reached >= step);
        step = reached;
      }
      CHECK(step == last_step);
      CHECK(runs > 1);
    });
  }
}

}  // namespace stop_by_signal_test
