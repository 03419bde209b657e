// The elements that the slots of a shuffle buffer request when it is filled again.

#include "leat/pipeline/state/detail/replay_requests.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/base/random.hpp"
#include "support/effort.hpp"

namespace replay_requests_test {

using leat::detail::origin;
using leat::detail::replay_requests;
using origins = std::vector<origin>;

// Some origins several times, with values of any width.
origins some_held(leat::random_engine& random, std::size_t count) {
  const std::uint64_t files = 1 + random.uniform_below(5000);
  const std::uint64_t size = std::uint64_t{1} << random.uniform_below(64);
  const bool branches = random.uniform_below(2) == 0;
  origins held;
  for (std::size_t i = 0; i < count; ++i) {
    if (!held.empty() && random.uniform_below(4) == 0) {
      held.push_back(held[random.uniform_below(held.size())]);
      if (branches) held.back().branch = random();
    } else {
      const std::uint64_t offset = random.uniform_below(size);
      held.push_back(
          {static_cast<std::uint32_t>(random.uniform_below(files)), offset, offset / 7, 0});
    }
  }
  return held;
}

TEST_CASE("replay_requests: all slots receive their elements again, in file order", "[pipeline]") {
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(200); ++seed) {
    leat::random_engine random(seed);
    const origins held = some_held(random, random.uniform_below(3000));
    replay_requests wanted(held);

    origins sorted = held;
    std::ranges::sort(sorted);
    origins records;
    for (const origin& o : sorted) {
      if (records.empty() || !records.back().same_record(o)) records.push_back(o.record());
    }
    REQUIRE(wanted.records() == records);

    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    const bool in_order = random.uniform_below(2) == 0;
    origins again(held.size());
    std::size_t given = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const origin& what = sorted[in_order ? i : sorted.size() - 1 - i];
      const auto who = wanted.find_requesters(what);
      for (std::size_t w = who.first; w != who.last; ++w) {
        REQUIRE(wanted.wants(w));
        REQUIRE(wanted.slot_ahead(w) < held.size());
        again[wanted.give(w)] = what;
        CHECK(!wanted.wants(w));
        ++given;
      }
    }
    REQUIRE(given == held.size());
    REQUIRE(again == held);
    wanted.drop_delivered();
    REQUIRE(wanted.empty());
  }
}

TEST_CASE("replay_requests: slots without their element are requested again", "[pipeline]") {
  const origin a{0, 10, 1, 0};
  const origin b{0, 20, 2, 0};
  const origins held{b, a, b, a, a};
  replay_requests wanted(held);
  const auto of_a = wanted.find_requesters(a);
  REQUIRE(of_a.last - of_a.first == 3);
  CHECK(wanted.give(of_a.first) == 1);
  const auto of_b = wanted.find_requesters(b);
  REQUIRE(of_b.last - of_b.first == 2);
  CHECK(wanted.give(of_b.first) == 0);
  CHECK(wanted.give(of_b.first + 1) == 2);
  wanted.drop_delivered();
  CHECK(wanted.records() == origins{a});
  const auto left = wanted.find_requesters(a);
  REQUIRE(left.last - left.first == 2);
  CHECK(wanted.give(left.first) == 3);
  CHECK(wanted.give(left.first + 1) == 4);
  wanted.drop_delivered();
  CHECK(wanted.empty());
}

TEST_CASE("replay_requests: skips records that no slot requests", "[pipeline]") {
  const origins held{{0, 10, 1, 0}, {0, 30, 3, 0}};
  replay_requests wanted(held);
  for (const origin& other : origins{{0, 0, 0, 0}, {0, 10, 1, 7}, {0, 20, 2, 0}, {1, 10, 1, 0}}) {
    const auto nobody = wanted.find_requesters(other);
    CHECK(nobody.first == nobody.last);
  }
  const auto who = wanted.find_requesters(held[0]);
  REQUIRE(who.last - who.first == 1);
  CHECK(wanted.give(who.first) == 0);
  replay_requests none{origins()};
  const auto nobody = none.find_requesters(held[0]);
  CHECK(nobody.first == nobody.last);
  CHECK(none.empty());
  CHECK(none.records().empty());
}

}  // namespace replay_requests_test
