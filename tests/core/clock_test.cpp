#include "leat/core/clock.hpp"

#include <catch2/catch.hpp>

namespace {

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

}  // namespace
