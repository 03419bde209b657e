#include "leat/base/permutation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/base/error.hpp"
#include "support/effort.hpp"
#include "support/refusal.hpp"

namespace permutation_test {

using leat::permutation;
using numbers = std::vector<std::uint64_t>;

numbers all_of(const permutation& order) {
  numbers all(static_cast<std::size_t>(order.size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = order[i];
  return all;
}

// Returns the deviation of the counts from equality: chi-square, in standard deviations from its
// mean.
double deviation(const numbers& counts) {
  const double mean =
      static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0})) /
      static_cast<double>(counts.size());
  double chi_square = 0;
  for (const std::uint64_t c : counts) {
    chi_square += (static_cast<double>(c) - mean) * (static_cast<double>(c) - mean) / mean;
  }
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

// Returns the number of this order among all orders of its length.
std::size_t rank_of(const numbers& order) {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto smaller = std::count_if(order.begin() + static_cast<std::ptrdiff_t>(i), order.end(),
                                       [&](std::uint64_t x) { return x < order[i]; });
    rank = rank * (order.size() - i) + static_cast<std::size_t>(smaller);
  }
  return rank;
}

TEST_CASE("permutation: has the same orders with every compiler") {
  CHECK(all_of(permutation(10, 1)) == numbers{8, 2, 7, 5, 9, 6, 1, 0, 4, 3});
  CHECK(all_of(permutation(10, 1, 1)) == numbers{9, 7, 2, 1, 8, 3, 4, 5, 0, 6});
  CHECK(all_of(permutation(5, 42, 7)) == numbers{0, 4, 2, 3, 1});
  const permutation large(1'000'000'007, 3, 5);
  CHECK(numbers{large[0], large[1], large[1'000'000'006]} ==
        numbers{704404402, 113751896, 13754720});
  const permutation largest(permutation::max_size, 3);
  CHECK(numbers{largest[0], largest[1], largest[permutation::max_size - 1]} ==
        numbers{6923560018808747039, 5627781543044655727, 5688753410794917537});
}

TEST_CASE("permutation: contains each number once and inverts it, for sizes up to 2000") {
  for (std::uint64_t n = 0; n <= leat_test::scaled_count(2000); ++n) {
    for (const std::uint64_t seed : {0U, 77U}) {
      const permutation order(n, seed, n + seed);
      std::vector<bool> seen(static_cast<std::size_t>(n));
      bool holds = true;
      for (std::uint64_t i = 0; i < n && holds; ++i) {
        const std::uint64_t x = order[i];
        holds = x < n && !seen[static_cast<std::size_t>(x)] && order.index_of(x) == i;
        if (holds) seen[static_cast<std::size_t>(x)] = true;
      }
      INFO(n << " numbers, seed " << seed);
      REQUIRE(holds);
    }
  }
}

TEST_CASE("permutation: inverts each number, for large sizes") {
  leat::random_engine random(5);
  for (unsigned bits = 11; bits <= 63; ++bits) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    for (const std::uint64_t n : {power - 1, power, power - random.uniform_below(power / 2)}) {
      const permutation order(n, random(), random());
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t place = i == 0 ? 0 : i == 1 ? n - 1 : random.uniform_below(n);
        REQUIRE(order[place] < n);
        REQUIRE(order.index_of(order[place]) == place);
        REQUIRE(order[order.index_of(place)] == place);
      }
    }
  }
}

TEST_CASE("permutation: all orders of up to five numbers are equally likely") {
  std::size_t orders = 1;
  for (std::uint64_t n = 2; n <= 5; ++n) {
    orders *= static_cast<std::size_t>(n);
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      numbers counts(orders);
      for (std::uint64_t epoch = 0; epoch < leat_test::scaled_count(400) * orders; ++epoch) {
        ++counts[rank_of(all_of(permutation(n, seed, epoch)))];
      }
      INFO(n << " numbers, seed " << seed);
      CHECK(std::abs(deviation(counts)) < 4);
    }
  }
}

TEST_CASE("permutation: each number is equally likely at each position over the epochs") {
  for (const std::uint64_t n : {7U, 12U, 33U, 100U, 256U, 300U}) {
    const auto size = static_cast<std::size_t>(n);
    numbers counts(size * size);
    for (std::uint64_t epoch = 0; epoch < leat_test::scaled_count(15) * n; ++epoch) {
      const permutation order(n, 9, epoch);
      for (std::size_t i = 0; i < size; ++i)
        ++counts[i * size + static_cast<std::size_t>(order[i])];
    }
    // Rows and columns have fixed sums, so (n - 1)^2 counts are free. The result is slightly lower.
    INFO(n);
    CHECK(std::abs(deviation(counts)) < 4 + 2 * std::sqrt(2.0));
  }
}

TEST_CASE("permutation: two neighbours are equally likely at each pair of positions") {
  for (const std::uint64_t n : {6U, 9U, 17U, 40U}) {
    const auto size = static_cast<std::size_t>(n);
    numbers counts(size * (size - 1));
    for (std::uint64_t epoch = 0; epoch < leat_test::scaled_count(40) * n * (n - 1); ++epoch) {
      const permutation order(n, 21, epoch);
      const auto first = static_cast<std::size_t>(order[2]);
      const auto second = static_cast<std::size_t>(order[3]);
      ++counts[first * (size - 1) + second - (second > first ? 1 : 0)];
    }
    INFO(n);
    CHECK(std::abs(deviation(counts)) < 4);
  }
}

TEST_CASE("permutation: other epochs and other seeds have other orders") {
  const numbers first = all_of(permutation(1000, 1, 0));
  for (const auto& other : {permutation(1000, 1, 1), permutation(1000, 2, 0)}) {
    std::size_t same = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i] == other[i]) ++same;
    }
    CHECK(same < 10);  // the expected number is 1
  }
}

TEST_CASE("permutation: rejects more than 2^63 numbers") {
  const std::string said =
      leat_test::refusal([] { return permutation(permutation::max_size + 1, 1); });
  CHECK(
      leat_test::contains(said, "permutation: size is 9223372036854775809, must be at most 2^63"));
}

}  // namespace permutation_test
