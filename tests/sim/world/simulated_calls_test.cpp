// Functions of run_blocking() in a simulated world.

#include <stop_token>

#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"

namespace simulated_calls_test {

struct outcomes {
  int calls = 0;
  int values = 0;
  int without_effect = 0;
  int observed_stops = 0;  // by a function
};

task<> call_with_limit(outcomes& seen) {
  bool called = false;
  const auto f = [&](std::stop_token stop) {
    called = true;
    if (stop.stop_requested()) ++seen.observed_stops;
    return 7;
  };
  const auto [ec, value] = co_await leat::as_tuple(leat::with_timeout(leat::run_blocking(f), 5ms));
  CHECK(called == !ec);
  CHECK(value == (ec ? 0 : 7));
  CHECK((!ec || ec == errc::deadline_exceeded));
  seen.calls += called;
  ec ? ++seen.without_effect : ++seen.values;
}

task<> call_many(outcomes& seen) {
  task_group group;
  for (int i = 0; i < 5; ++i) group.spawn(call_with_limit(seen));
  co_await group.join();
}

TEST_CASE("run_blocking: in simulated worlds, a function is called or withdrawn by its limit") {
  outcomes seen;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    leat::sim::run(seed, [&](leat::sim::world&) { return call_many(seen); }, {.threads = 2});
  }
  CHECK(seen.calls == seen.values);
  CHECK(seen.values > 100);
  CHECK(seen.without_effect > 100);
  CHECK(seen.observed_stops > 10);
}

TEST_CASE("run_blocking: a simulated world repeats its calls from its seed") {
  const auto schedule = [](std::uint64_t seed) {
    outcomes seen;
    leat::sim::world w(seed, {.threads = 2});
    w.trace();
    w.run([&](leat::sim::world&) { return call_many(seen); });
    return w.schedule();
  };
  CHECK(schedule(4) == schedule(4));
  CHECK(schedule(4) != schedule(5));
}

TEST_CASE("run_blocking: a stop in a simulated world ends each call") {
  int calls = 0;
  int cancelled = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    leat::sim::run(seed, [&](leat::sim::world&) -> task<> {
      task_group group;
      const auto body = [&]() -> task<> {
        const auto f = [&calls] { ++calls; };
        const auto [ec] = co_await leat::as_tuple(leat::run_blocking(f));
        cancelled += ec == errc::cancelled;
      };
      group.spawn(body());
      co_await leat::sleep_for(1ms);
      group.request_stop();
      co_await group.join();
    });
  }
  CHECK(calls + cancelled == 200);
  CHECK(calls > 20);
  CHECK(cancelled > 20);
}

}  // namespace simulated_calls_test
