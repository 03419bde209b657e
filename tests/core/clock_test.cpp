#include "leat/core/clock.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "leat/core/sleep.hpp"
#include "leat/core/sync_wait.hpp"
#include "leat/core/task.hpp"
#include "leat/core/this_task.hpp"
#include "support/leat_test.hpp"

namespace clock_test {

using namespace std::chrono_literals;
using leat::deadline_after;
using leat::duration;
using leat::no_deadline;
using leat::time_point;

TEST_CASE("deadline_after: adds, and never overflows", "[core]") {
  const time_point now{};
  CHECK(deadline_after(now, 1s) == now + 1s);
  CHECK(deadline_after(now, -1s) == now - 1s);
  CHECK(deadline_after(now, duration::max()) == no_deadline);
  CHECK(deadline_after(now + 1h, duration::max()) == no_deadline);
  CHECK(deadline_after(no_deadline, 1s) == no_deadline);
  CHECK(deadline_after(no_deadline - 1ns, 1ns) == no_deadline);
}

TEST_CASE("scheduler: the clock on the wall is the system's, and the process this one", "[core]") {
  leat::sync_wait([]() -> leat::task<> {
    const leat::scheduler& here = co_await leat::this_task::get_scheduler();
    const leat::wall_time_point before = std::chrono::system_clock::now();
    const leat::wall_time_point wall = here.wall_time();
    CHECK(wall >= before - 1min);  // it may be set meanwhile
    CHECK(wall <= std::chrono::system_clock::now() + 1min);
    CHECK(here.identity().process == ::getpid());
    CHECK_FALSE(here.identity().host.empty());
  }());
}

LEAT_TEST("virtual_scheduler: its clock on the wall goes with its time, and jumps alone",
          "[core]") {
  auto& here =
      static_cast<leat::sim::virtual_scheduler&>(co_await leat::this_task::get_scheduler());
  const leat::wall_time_point begin = here.wall_time();
  CHECK(begin.time_since_epoch() == std::chrono::seconds(946'684'800));
  co_await leat::sleep_for(90s);
  CHECK(here.wall_time() == begin + 90s);
  const leat::time_point now = here.now();
  here.jump_wall_clock(-1h);
  CHECK(here.wall_time() == begin + 90s - 1h);
  CHECK(here.now() == now);
  CHECK(here.identity().host == "sim");
  here.set_identity({"other", 7});
  CHECK(here.identity().process == 7);
}

}  // namespace clock_test
