#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "leat/base/braced.hpp"

namespace LEAT {

/// A histogram in its stored form: TensorFlow's message HistogramProto.
///
/// Bucket i counts the values from bucket_limit[i - 1], inclusive, to bucket_limit[i], exclusive.
/// The first bucket has no lower limit.
struct histogram_data {
  /// The smallest value.
  double min = 0;
  /// The largest value.
  double max = 0;
  double num = 0;  ///< number of values
  /// The sum of the values.
  double sum = 0;
  /// The sum of the squares of the values.
  double sum_squares = 0;
  /// The upper limit of each bucket, in ascending order.
  option_list<double> bucket_limit = {};
  option_list<double> bucket = {};  ///< number of values in each bucket

  friend bool operator==(const histogram_data&, const histogram_data&) = default;
};

/// Counts values in buckets, for a summary.
///
/// Thread safety: thread-compatible.
/// Cost: 12 KiB for each histogram with the default limits.
/// TensorFlow: core/lib/histogram. Differs from TensorFlow: a value at the last limit is counted in
/// the last bucket, not outside the buckets.
class histogram {
 public:
  /// Returns the limits of TensorFlow's histograms. These are 1551 numbers: from 1e-12 to 1e20,
  /// each a tenth larger than the last one; the negatives of these; zero; and the largest finite
  /// numbers at both ends.
  [[nodiscard]] static std::span<const double> default_limits();

  /// Creates a histogram with the default limits.
  histogram();

  /// Creates a histogram with other limits. The last bucket also counts all values from the last
  /// limit on.
  ///
  /// Errors: invalid_argument, if `limits` is empty, contains NaN or is not in ascending order.
  explicit histogram(std::span<const double> limits);

  /// Creates a histogram from its stored form. Its limits are the stored ones, so a bucket may
  /// cover several buckets of the original histogram.
  ///
  /// Errors: invalid_argument, if there are no limits or they are not in ascending order, if the
  ///         numbers of limits and counts differ, or if a count is negative or not finite.
  explicit histogram(const histogram_data& data);

  /// Counts a value in the first bucket whose limit is above the value. `tag` is the tag of the
  /// summary, for the error message.
  ///
  /// Errors: invalid_argument, if the value is NaN or infinite; it is not counted.
  void add(double value, std::string_view tag = {});

  /// Counts all values, or none if one of them is NaN or infinite.
  void add(std::span<const double> values, std::string_view tag = {});
  void add(std::span<const float> values, std::string_view tag = {});

  /// Adds the counts of another histogram. The other one may have fewer limits, for example because
  /// it was stored, but each of its buckets that is not empty must also be a bucket of this
  /// histogram.
  ///
  /// Errors: invalid_argument, if the buckets differ; this histogram does not change.
  void merge(const histogram& other);

  /// Returns the number of values.
  [[nodiscard]] double num() const noexcept { return num_; }
  /// Returns the smallest value; if there are no values, the largest finite number. max() returns
  /// the largest value; if there are no values, the lowest finite number.
  [[nodiscard]] double min() const noexcept { return min_; }
  [[nodiscard]] double max() const noexcept { return max_; }
  /// Returns the sum of the values.
  [[nodiscard]] double sum() const noexcept { return sum_; }
  /// Returns the sum of the squares of the values.
  [[nodiscard]] double sum_squares() const noexcept { return sum_squares_; }

  /// Returns the mean, or 0 if there are no values. So do variance() and standard_deviation().
  [[nodiscard]] double mean() const noexcept;
  [[nodiscard]] double variance() const noexcept;
  [[nodiscard]] double standard_deviation() const noexcept;

  /// Returns the value below which `p` percent of the values are; `p` is from 0 to 100. The result
  /// is exact at 0 and 100. Otherwise the values of a bucket are assumed to be evenly distributed.
  /// Returns 0 if there are no values.
  [[nodiscard]] double percentile(double p) const noexcept;
  /// Returns the median, which is percentile(50).
  [[nodiscard]] double median() const noexcept { return percentile(50); }

  /// Returns the stored form, in which each run of empty buckets is one bucket.
  [[nodiscard]] histogram_data encode() const;

 private:
  using shared_limits = std::shared_ptr<const std::vector<double>>;

  [[nodiscard]] static const shared_limits& shared_default_limits();
  explicit histogram(shared_limits limits);
  void count(double value) noexcept;

  shared_limits limits_;
  std::vector<double> counts_;
  double min_;
  double max_;
  double num_ = 0;
  double sum_ = 0;
  double sum_squares_ = 0;
};

}  // namespace LEAT
