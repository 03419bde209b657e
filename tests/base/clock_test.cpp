#include "leat/base/clock.hpp"

#include <unistd.h>

#include <sstream>
#include <type_traits>

#include "support/leat_test.hpp"

namespace clock_test {

using leat::deadline_after;
using leat::duration;
using leat::no_deadline;
using leat::time_point;

TEST_CASE("deadline_after: adds, and never overflows") {
  const time_point now{};
  CHECK(deadline_after(now, 1s) == now + 1s);
  CHECK(deadline_after(now, -1s) == now - 1s);
  CHECK(deadline_after(now, duration::max()) == no_deadline);
  CHECK(deadline_after(now + 1h, duration::max()) == no_deadline);
  CHECK(deadline_after(no_deadline, 1s) == no_deadline);
  CHECK(deadline_after(no_deadline - 1ns, 1ns) == no_deadline);
}

TEST_CASE("saturated: limits a value to the range of nanoseconds") {
  using std::chrono::hours;
  using std::chrono::seconds;
  STATIC_REQUIRE(leat::saturated(seconds::max()) == duration::max());
  STATIC_REQUIRE(leat::saturated(hours::min()) == duration::min());
  STATIC_REQUIRE(leat::saturated(std::chrono::years(300)) == duration::max());
  STATIC_REQUIRE(leat::saturated(std::chrono::years(-300)) == duration::min());
  STATIC_REQUIRE(leat::saturated(90min) == 90min);
  STATIC_REQUIRE(leat::saturated(-90min) == -90min);
  STATIC_REQUIRE(leat::saturated(duration::max()) == duration::max());
  using far = std::chrono::time_point<std::chrono::steady_clock, seconds>;
  STATIC_REQUIRE(leat::saturated(far::max()) == no_deadline);
  STATIC_REQUIRE(leat::saturated(far::min()) == time_point::min());
  STATIC_REQUIRE(leat::saturated(far(7s)) == time_point(7s));
}

TEST_CASE("time_span: accepts any unit except fractions of a nanosecond") {
  constexpr leat::time_span span = std::chrono::hours::max();
  STATIC_REQUIRE(span == duration::max());
  STATIC_REQUIRE(leat::time_span(5s) == 5s);
  STATIC_REQUIRE(leat::time_span() == duration::zero());
  STATIC_REQUIRE_FALSE(std::is_constructible_v<leat::time_span, std::chrono::duration<double>>);
  constexpr std::optional<leat::time_span> maybe = std::chrono::years(10'000);
  STATIC_REQUIRE(*maybe == duration::max());
}

LEAT_TEST("time: accepts any limit in any unit") {
  using far = std::chrono::time_point<std::chrono::steady_clock, std::chrono::seconds>;
  task_group sleepers;
  int ended = 0;
  const auto sleep_in = [](int& n, std::chrono::seconds s) -> task<> {
    co_await leat::sleep_for(s);
    ++n;
  };
  const auto sleep_to = [](int& n, far t) -> task<> {
    co_await leat::sleep_until(t);
    ++n;
  };
  sleepers.spawn(sleep_in(ended, std::chrono::seconds::max()));
  sleepers.spawn(sleep_to(ended, far::max()));
  co_await leat::with_timeout(leat::sleep_for(1h), std::chrono::seconds::max());
  co_await leat::with_timeout(leat::sleep_for(1h), std::chrono::years(10'000));
  co_await leat::with_deadline(leat::sleep_for(1h), far::max());
  CHECK(ended == 0);
  std::ostringstream where;
  leat::dump(where, std::chrono::hours::max());
  CHECK(where.str().find("sleep for another 92233") != std::string::npos);
  co_await leat::sleep_for(std::chrono::seconds::min());  // the time has passed
  co_await leat::sleep_until(far::min());
  sleepers.request_stop();
  co_await sleepers.join();
}

LEAT_REAL_TIME_TEST("scheduler: has the system clock and the id of the process") {
  const leat::scheduler& here = leat::this_task::get_scheduler();
  const leat::wall_time_point before = std::chrono::system_clock::now();
  const leat::wall_time_point wall = here.wall_time();
  CHECK(wall >= before - 1min);  // the wall clock may be set meanwhile
  CHECK(wall <= std::chrono::system_clock::now() + 1min);
  CHECK(here.identity().process_id == ::getpid());
  CHECK_FALSE(here.identity().host.empty());
  co_return;
}

LEAT_TEST("virtual_scheduler: the wall clock advances with its time and can jump by itself") {
  auto& here = static_cast<leat::sim::virtual_scheduler&>(leat::this_task::get_scheduler());
  const leat::wall_time_point begin = here.wall_time();
  CHECK(begin.time_since_epoch() == std::chrono::seconds(946'684'800));
  co_await leat::sleep_for(90s);
  CHECK(here.wall_time() == begin + 90s);
  const leat::time_point now = here.now();
  here.process().jump_wall_clock(-1h);
  CHECK(here.wall_time() == begin + 90s - 1h);
  CHECK(here.now() == now);
  CHECK(here.identity().host == "sim");
  here.process().set_identity({"other", 7});
  CHECK(here.identity().process_id == 7);
}

}  // namespace clock_test
