#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "leat/base/braced.hpp"

namespace leat {

/// A histogram as it is stored: TensorFlow's message HistogramProto.
///
/// Bucket i holds what is at least bucket_limit[i - 1] and below bucket_limit[i]; the first one has
/// no lower end.
struct histogram_data {
  double min = 0;
  double max = 0;
  double num = 0;  ///< how many values
  double sum = 0;
  double sum_squares = 0;
  braced<std::vector<double>> bucket_limit = {};
  braced<std::vector<double>> bucket = {};  ///< how many values each bucket holds

  friend bool operator==(const histogram_data&, const histogram_data&) = default;
};

/// Counts values in buckets, for a summary.
///
/// Thread safety: thread-compatible. Cost: 12 KiB each with the default limits.
/// TensorFlow: core/lib/histogram; where a value at the last limit is counted outside.
class histogram {
 public:
  /// The limits of TensorFlow's histograms: 1551 of them, growing by a tenth each from 1e-12 to
  /// 1e20, the same below zero, zero, and at the ends the largest numbers.
  [[nodiscard]] static std::span<const double> default_limits();

  /// With the default limits.
  histogram();

  /// With other limits; what is not below the last one is in the last bucket all the same.
  /// Errors: invalid_argument for limits that are none, or do not ascend.
  explicit histogram(std::span<const double> limits);

  /// What was stored. Its limits are those stored, so neighbouring buckets may have become one.
  /// Errors: invalid_argument unless there are limits, in order, and for each of them a count that
  ///         is one.
  explicit histogram(const histogram_data& data);

  /// Counts a value, in the first bucket whose limit is above it.
  ///
  /// `tag`: the summary's, for the message.
  /// Errors: invalid_argument for a value that is not a number or infinite; it is not counted.
  void add(double value, std::string_view tag = {});

  /// The same for all values, or none.
  void add(std::span<const double> values, std::string_view tag = {});
  void add(std::span<const float> values, std::string_view tag = {});

  /// Adds what another one has counted. Its limits may be fewer, as those of one that was stored,
  /// as long as each bucket that holds something is one of this histogram's.
  /// Errors: invalid_argument for other buckets; then nothing has changed.
  void merge(const histogram& other);

  [[nodiscard]] double num() const noexcept { return num_; }
  /// Before a value was added the largest number there is, and max() the smallest.
  [[nodiscard]] double min() const noexcept { return min_; }
  [[nodiscard]] double max() const noexcept { return max_; }
  [[nodiscard]] double sum() const noexcept { return sum_; }
  [[nodiscard]] double sum_squares() const noexcept { return sum_squares_; }

  /// 0 without values.
  [[nodiscard]] double mean() const noexcept;
  [[nodiscard]] double variance() const noexcept;
  [[nodiscard]] double standard_deviation() const noexcept;

  /// The value below which `p` percent of the values lie, from 0 to 100: exact at the ends, between
  /// them as if the values of a bucket were spread evenly over it. 0 without values.
  [[nodiscard]] double percentile(double p) const noexcept;
  [[nodiscard]] double median() const noexcept { return percentile(50); }

  /// To be stored: a run of empty buckets becomes one.
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

}  // namespace leat
