#include "leat/base/random.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

namespace random_test {

using leat::random_engine;

TEST_CASE("random_engine: returns the numbers of SplitMix64 with every compiler") {
  // The first numbers for seed 1234567, as printed by the program of its authors.
  random_engine random(1234567);
  CHECK(random() == 6457827717110365317U);
  CHECK(random() == 3203168211198807973U);
  CHECK(random() == 9817491932198370423U);
}

TEST_CASE("random_engine: resumes from its seed and position") {
  random_engine random(7);
  for (int i = 0; i < 100; ++i) random();
  random_engine other(random.seed(), random.position());
  CHECK(random.position() == 100);
  CHECK(random() == other());
}

TEST_CASE("random_engine: streams differ from each other and from their parent") {
  const random_engine parent(7);
  std::set<std::uint64_t> firsts{random_engine(parent)()};
  for (std::uint64_t i = 0; i < 1000; ++i) firsts.insert(parent.stream(i)());
  CHECK(firsts.size() == 1001);
}

TEST_CASE("random_engine: uniform_below() is uniform below its limit") {
  random_engine random(3);
  std::array<int, 6> counts{};
  constexpr int draws = 60'000;
  for (int i = 0; i < draws; ++i) ++counts[random.uniform_below(6)];
  // 10,000 are expected, with a standard deviation of 91. The limit is six deviations.
  for (const int count : counts) CHECK(std::abs(count - draws / 6) < 550);
  for (int i = 0; i < 100; ++i) REQUIRE(random.uniform_below(1) == 0);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 100; ++i) REQUIRE(random.uniform_below(most) < most);
}

TEST_CASE("shuffle: keeps every item, and all orders are equally likely") {
  random_engine random(11);
  std::array<int, 6> counts{};
  for (int i = 0; i < 6000; ++i) {
    std::array<int, 3> items{0, 1, 2};
    leat::shuffle(items.begin(), items.end(), random);
    REQUIRE(std::set<int>(items.begin(), items.end()).size() == 3);
    const int rank = items[0] * 2 + (items[1] > items[2] ? 1 : 0);
    ++counts[static_cast<std::size_t>(rank)];
  }
  for (const int count : counts) CHECK(std::abs(count - 1000) < 180);  // six deviations
}

TEST_CASE("shuffle: equal seeds produce equal orders") {
  const auto shuffled = [](std::uint64_t seed) {
    std::vector<int> items(100);
    std::iota(items.begin(), items.end(), 0);
    random_engine random(seed);
    leat::shuffle(items.begin(), items.end(), random);
    return items;
  };
  CHECK(shuffled(5) == shuffled(5));
  CHECK(shuffled(5) != shuffled(6));
}

TEST_CASE("shuffle: uses no random number for fewer than two items") {
  random_engine random(1);
  std::vector<int> items;
  leat::shuffle(items.begin(), items.end(), random);
  items.push_back(1);
  leat::shuffle(items.begin(), items.end(), random);
  CHECK(random.position() == 0);
}

TEST_CASE("seed_or_random: returns the given seed, or a new one each time") {
  CHECK(leat::seed_or_random(0) == 0);
  CHECK(leat::seed_or_random(42) == 42);
  CHECK(leat::seed_or_random(std::nullopt) != leat::seed_or_random(std::nullopt));
}

}  // namespace random_test
