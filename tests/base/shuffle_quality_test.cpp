#include "leat/base/shuffle_quality.hpp"

#include <cmath>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/base/permutation.hpp"
#include "leat/base/random.hpp"
#include "support/refusal.hpp"

namespace shuffle_quality_test {

using leat::measure_shuffle;
using order = std::vector<std::uint64_t>;

order identity(std::size_t n) {
  order all(n);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

// Passes the items through a buffer of `capacity` items, which returns a random item and takes the
// next.
order through_buffer(std::size_t n, std::size_t capacity) {
  leat::random_engine random(4);
  order out;
  order buffer;
  for (std::uint64_t next = 0; out.size() < n;) {
    while (buffer.size() < capacity && next < n) buffer.push_back(next++);
    std::swap(buffer[static_cast<std::size_t>(random.uniform_below(buffer.size()))], buffer.back());
    out.push_back(buffer.back());
    buffer.pop_back();
  }
  return out;
}

TEST_CASE("measure_shuffle: matches known figures") {
  for (const std::size_t n : {0U, 1U, 2U, 1000U}) {
    CHECK(measure_shuffle(identity(n)).displacement == 0);
    CHECK(measure_shuffle(identity(n)).neighbours == 1);
  }
  order reverse = identity(1000);
  std::reverse(reverse.begin(), reverse.end());
  CHECK(std::abs(measure_shuffle(reverse).displacement - 1.5) < 0.01);
  CHECK(measure_shuffle(reverse).neighbours == 1);
  // By hand: each distance is 1 and the mean of all orders is 15 / 12; two of three pairs were
  // neighbours.
  const leat::shuffle_quality small = measure_shuffle(order{1, 0, 3, 2});
  CHECK(std::abs(small.displacement - 0.8) < 1e-12);
  CHECK(std::abs(small.neighbours - 2.0 / 3) < 1e-12);
}

TEST_CASE("measure_shuffle: the mean over all orders of five is 1, and 2 / 5") {
  order one = identity(5);
  double displacement = 0;
  double neighbours = 0;
  do {
    displacement += measure_shuffle(one).displacement / 120;
    neighbours += measure_shuffle(one).neighbours / 120;
  } while (std::next_permutation(one.begin(), one.end()));
  CHECK(std::abs(displacement - 1) < 1e-9);
  CHECK(std::abs(neighbours - 0.4) < 1e-9);
}

TEST_CASE("measure_shuffle: a permutation is a random order, a buffer is not") {
  constexpr std::size_t n = 100'000;
  const leat::permutation permutation(n, 8);
  order global(n);
  for (std::size_t i = 0; i < n; ++i) global[i] = permutation[i];
  CHECK(std::abs(measure_shuffle(global).displacement - 1) < 0.01);
  CHECK(measure_shuffle(global).neighbours < 1e-4);
  for (const std::size_t capacity : {100U, 1000U, 10'000U}) {
    const auto b = static_cast<double>(capacity);
    const leat::shuffle_quality q = measure_shuffle(through_buffer(n, capacity));
    INFO(capacity << ": " << q.displacement << ", " << q.neighbours);
    CHECK(std::abs(q.displacement / (2.2 * b / n) - 1) < 0.15);
    CHECK(std::abs(q.neighbours * b - 1) < 0.35);
  }
  CHECK(std::abs(measure_shuffle(through_buffer(n, n)).displacement - 1) < 0.01);
}

TEST_CASE("measure_shuffle: rejects a position outside the order") {
  const std::string said = leat_test::refusal([] { return measure_shuffle(order{0, 2}); });
  CHECK(leat_test::contains(said, "measure_shuffle: order[1] is 2, must be less than the size, 2"));
}

}  // namespace shuffle_quality_test
