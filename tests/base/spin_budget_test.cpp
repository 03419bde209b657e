#include "leat/base/internal/spin_budget.hpp"

#include <catch2/catch.hpp>

namespace spin_budget_test {

using leat::detail::spin_budget;

// Returns the number of checks, of which the one with the number `successful` succeeds.
int checks(spin_budget& b, int limit, int successful = 0) {
  int count = 0;
  const bool found = b.spin(limit, [&] { return ++count == successful; });
  CHECK(found == (successful > 0));
  return count;
}

TEST_CASE("spin_budget: 32 failures in a row end the checks") {
  spin_budget b;
  for (int i = 0; i < 31; ++i) checks(b, 10);
  CHECK(checks(b, 10, 7) == 7);
  for (int i = 0; i < 32; ++i) CHECK(checks(b, 10) == 10);
  CHECK(checks(b, 10) == 0);
}

TEST_CASE("spin_budget: one of 16 calls tries again, and a success restores the checks") {
  spin_budget b;
  for (int i = 0; i < 32; ++i) checks(b, 10);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 15; ++i) CHECK(checks(b, 10) == 0);
    CHECK(checks(b, 10) == 10);
  }
  for (int i = 0; i < 15; ++i) CHECK(checks(b, 10) == 0);
  CHECK(checks(b, 10, 3) == 3);
  CHECK(checks(b, 10) == 10);
}

}  // namespace spin_budget_test
