// Values from the specification of TensorFlow's histograms.

#include "leat/codec/event/histogram.hpp"

#include <cfloat>
#include <cmath>
#include <limits>

#include "tensor/plain_test.hpp"

namespace histogram_test {

using leat::histogram;
using leat::histogram_data;
using doubles = std::vector<double>;

histogram counted(const doubles& values) {
  histogram h;
  h.add(values);
  return h;
}

// Returns the limit and the count of each bucket in turn.
doubles buckets(const doubles& values) {
  const histogram_data data = counted(values).encode();
  doubles all;
  for (std::size_t i = 0; i < data.bucket.size(); ++i) {
    all.push_back(data.bucket_limit[i]);
    all.push_back(data.bucket[i]);
  }
  return all;
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

TEST_CASE("histogram: has the 1551 limits of TensorFlow") {
  const auto limits = histogram::default_limits();
  REQUIRE(limits.size() == 1551);
  CHECK(limits.front() == -DBL_MAX);
  CHECK(limits[774] == -1e-12);
  CHECK(limits[775] == 0);
  CHECK(limits[776] == 1e-12);
  CHECK(limits[777] == 1e-12 * 1.1);
  CHECK(limits[1549] < 1e20);
  CHECK(limits[1549] * 1.1 >= 1e20);
  CHECK(limits[1549] == Approx(9.92e19).epsilon(0.01));
  CHECK(limits.back() == DBL_MAX);
  for (std::size_t i = 0; i < limits.size(); ++i) REQUIRE(limits[i] == -limits[1550 - i]);
}

TEST_CASE("histogram: encodes with a run of empty buckets as one") {
  CHECK(buckets({}) == doubles{DBL_MAX, 0});
  CHECK(buckets({-3}) == doubles{-3.1665833053880363, 0, -2.8787120958073054, 1, DBL_MAX, 0});
  CHECK(buckets({0}) == doubles{0, 0, 1e-12, 1, DBL_MAX, 0});
  CHECK(buckets({1, 1, 2}) == doubles{0.91724638903977596, 0, 1.0089710279437536, 2,
                                      1.9661990955585713, 0, 2.1628190051144287, 1, DBL_MAX, 0});
  CHECK(buckets({DBL_MAX}) == doubles{histogram::default_limits()[1549], 0, DBL_MAX, 1});
  CHECK(buckets({-DBL_MAX, DBL_MAX}).size() == 8);
}

TEST_CASE("histogram: a value at a limit belongs to the bucket above") {
  const doubles limits{-10, 0, 10};
  histogram h{std::span<const double>(limits)};
  h.add(std::vector<double>{-10, -0.5, 0, 9, 10, 1e300});
  const histogram_data data = h.encode();
  CHECK(data.bucket_limit == limits);
  CHECK(data.bucket == doubles{0, 2, 4});  // the last bucket has no upper limit
}

TEST_CASE("histogram: counts, sums and extremes") {
  const histogram none;
  CHECK(none.min() == DBL_MAX);
  CHECK(none.max() == -DBL_MAX);
  CHECK(none.num() == 0);
  CHECK(none.mean() == 0);
  CHECK(none.variance() == 0);
  CHECK(none.median() == 0);

  const histogram h = counted({1, 2, 3, 4});
  CHECK(h.num() == 4);
  CHECK(h.min() == 1);
  CHECK(h.max() == 4);
  CHECK(h.sum() == 10);
  CHECK(h.sum_squares() == 30);
  CHECK(h.mean() == 2.5);
  CHECK(h.variance() == 1.25);
  CHECK(h.standard_deviation() == Approx(std::sqrt(1.25)));
  // Rounding does not make it negative.
  CHECK(counted(doubles(1000, 0.1)).variance() >= 0);
}

TEST_CASE("histogram: percentiles lie between the limits of their bucket and the extremes") {
  const doubles limits{0, 10, 20, 30, 40};
  histogram h{std::span<const double>(limits)};
  for (const double v : {2.0, 4.0, 12.0, 14.0, 32.0}) h.add(v);
  CHECK(h.percentile(0) == 2);
  CHECK(h.percentile(20) == Approx(2 + (10 - 2) * 0.5));
  CHECK(h.percentile(40) == Approx(10));
  CHECK(h.percentile(60) == Approx(10 + (20 - 10) * 0.5));
  CHECK(h.percentile(80) == Approx(20));      // the empty bucket adds nothing
  CHECK(h.percentile(90) == Approx(30 + 1));  // up to the largest value, 32
  CHECK(h.percentile(100) == 32);
  CHECK(h.percentile(200) == 32);

  leat::random_engine random(1);
  histogram many;
  for (int i = 0; i < 100'000; ++i)
    many.add(static_cast<double>(random.uniform_below(1'000'000)) / 1e6);
  double last = many.percentile(0);
  for (int p = 1; p <= 100; ++p) {
    const double at = many.percentile(p);
    CHECK(at >= last);
    CHECK(at == Approx(p / 100.0).margin(0.01));
    last = at;
  }
}

TEST_CASE("histogram: a stored histogram is restored and can be merged") {
  leat::random_engine random(2);
  doubles first;
  doubles second;
  for (int i = 0; i < 500; ++i) {
    const double v = (static_cast<double>(random.uniform_below(2'000'001)) - 1e6) / 1e3;
    (random.uniform_below(2) == 0 ? first : second).push_back(v);
  }
  doubles both = first;
  both.insert(both.end(), second.begin(), second.end());
  const histogram_data stored = counted(second).encode();
  const histogram again(stored);
  CHECK(again.encode() == stored);
  for (int p = 0; p <= 100; p += 5) {
    CHECK(again.percentile(p) == counted(second).percentile(p));
  }

  histogram merged = counted(first);
  merged.merge(again);
  const histogram_data expected = counted(both).encode();
  CHECK(merged.encode().bucket_limit == expected.bucket_limit);
  CHECK(merged.encode().bucket == expected.bucket);
  CHECK(merged.min() == expected.min);
  CHECK(merged.max() == expected.max);
  CHECK(merged.num() == expected.num);
  CHECK(merged.sum() == Approx(expected.sum));
  CHECK(merged.sum_squares() == Approx(expected.sum_squares));

  const histogram copy = merged;
  CHECK(copy.encode() == merged.encode());
}

TEST_CASE("histogram: refuses to merge other buckets and does not change") {
  const doubles limits{-1.5, 0.5, DBL_MAX};
  histogram other{std::span<const double>(limits)};
  histogram h = counted({1, 2});
  h.merge(other);  // it is empty
  other.add(0);
  const histogram_data before = h.encode();
  CHECK_REFUSED("bucket limits differ", h.merge(other));
  CHECK(h.encode() == before);
  // Equal upper limits and different lower limits.
  const doubles wide{-DBL_MAX, DBL_MAX};
  histogram all{std::span<const double>(wide)};
  all.add(1);
  CHECK_FALSE(refusal([&] { h.merge(all); }).empty());
  const doubles one{DBL_MAX};
  histogram only{std::span<const double>(one)};
  only.add(1);
  CHECK_FALSE(refusal([&] { h.merge(only); }).empty());
  CHECK(h.encode() == before);
}

TEST_CASE("histogram: NaN and infinity are refused with the tag, and nothing is counted") {
  histogram h;
  CHECK_REFUSED("histogram 'layer/w': NaN cannot be counted", h.add(nan_value, "layer/w"));
  CHECK_REFUSED("histogram 'w': infinity cannot be counted", h.add(infinity, "w"));
  CHECK_REFUSED("histogram: infinity cannot be counted", h.add(-infinity));
  CHECK_FALSE(refusal([&] { h.add(doubles{1, 2, nan_value}); }).empty());
  const std::vector<float> floats{1, std::numeric_limits<float>::infinity()};
  CHECK_FALSE(refusal([&] { h.add(floats); }).empty());
  CHECK(h.num() == 0);
}

TEST_CASE("histogram: refuses invalid limits and counts") {
  const auto make = [](histogram_data data) { return refusal([&] { return histogram(data); }); };
  CHECK(contains(make({}), "no bucket limits"));
  CHECK(contains(make({.bucket_limit = {1, 2}, .bucket = {1}}),
                 "bucket_limit has 2 values, but bucket has 1"));
  CHECK(contains(make({.bucket_limit = {2, 1}, .bucket = {1, 1}}), "do not ascend at bucket 1"));
  CHECK(contains(make({.bucket_limit = {nan_value}, .bucket = {1}}), "at bucket 0"));
  CHECK(contains(make({.bucket_limit = {1, nan_value}, .bucket = {1, 1}}), "at bucket 1"));
  CHECK(contains(make({.bucket_limit = {1}, .bucket = {-1}}), "negative"));
  CHECK(contains(make({.bucket_limit = {1}, .bucket = {infinity}}),
                 "a count is negative or not finite"));
  CHECK(contains(make({.num = nan_value, .bucket_limit = {1}, .bucket = {1}}),
                 "a count is negative or not finite"));
  CHECK(make({.num = 1, .bucket_limit = {1, 1}, .bucket = {1, 0}}).empty());
  const doubles falling{1, 0};
  CHECK_FALSE(refusal([&] { return histogram(std::span<const double>(falling)); }).empty());
}

}  // namespace histogram_test
