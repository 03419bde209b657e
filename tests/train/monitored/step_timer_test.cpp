// A timer that is due after steps or after a time.

#include "leat/train/monitored/step_timer.hpp"

#include <chrono>

#include <catch2/catch.hpp>

#include "support/refusal.hpp"

namespace step_timer_test {

using namespace std::chrono_literals;
using leat::step_interval;
using leat::step_timer;
using leat::time_point;
using leat_test::contains;
using leat_test::refusal;

TEST_CASE("step_timer: is due at once, then after the number of steps", "[train]") {
  step_timer t(step_interval{.steps = 3}, "a hook");
  const time_point now{};
  CHECK(t.is_due(5, now));
  t.done(5, now);
  CHECK_FALSE(t.is_due(5, now + 1h));
  CHECK_FALSE(t.is_due(7, now + 1h));
  CHECK(t.is_due(8, now));
  CHECK(t.is_due(100, now));
  t.reset();
  CHECK(t.is_due(5, now));
}

TEST_CASE("step_timer: is due after the interval in time, and never twice at a step", "[train]") {
  step_timer t(step_interval{.time = 2s}, "a hook");
  const time_point now{};
  CHECK(t.is_due(1, now));
  t.done(1, now);
  CHECK_FALSE(t.is_due(2, now + 1999ms));
  CHECK(t.is_due(2, now + 2s));
  CHECK_FALSE(t.is_due(1, now + 1h));
}

TEST_CASE("step_timer: requires either steps or time, greater than 0", "[train]") {
  const auto why = [](step_interval every) {
    return refusal([&] { return step_timer(every, "my_hook"); });
  };
  CHECK(contains(why({}), "my_hook: interval is ambiguous or missing: set either steps or time"));
  CHECK(contains(why({.steps = 1, .time = 1s}), "set either steps or time"));
  CHECK(contains(why({.steps = 0}), "interval is not positive"));
  CHECK(contains(why({.time = -1s}), "interval is not positive"));
}

}  // namespace step_timer_test
