#include "leat/codec/event/histogram.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

std::vector<double> make_default_limits() {
  std::vector<double> above_zero;
  for (double limit = 1e-12; limit < 1e20; limit *= 1.1) above_zero.push_back(limit);
  above_zero.push_back(DBL_MAX);
  std::vector<double> all;
  for (auto l = above_zero.rbegin(); l != above_zero.rend(); ++l) all.push_back(-*l);
  all.push_back(0);
  all.insert(all.end(), above_zero.begin(), above_zero.end());
  return all;
}

[[noreturn]] void throw_histogram_error(const std::string& why) {
  throw failure(errc::invalid_argument, "histogram: " + why);
}

const std::vector<double>& checked(const std::vector<double>& limits) {
  if (limits.empty()) throw_histogram_error("no bucket limits: pass one or more");
  // Not >, so that NaN is refused too. Equal limits make a bucket that stays empty.
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const bool in_order = i == 0 ? !std::isnan(limits[0]) : limits[i - 1] <= limits[i];
    if (!in_order) throw_histogram_error("limits do not ascend at bucket " + std::to_string(i));
  }
  return limits;
}

void check(double value, std::string_view tag) {
  if (std::isfinite(value)) return;
  throw failure(errc::invalid_argument, "histogram" +
                                            (tag.empty() ? "" : " '" + std::string(tag) + "'") +
                                            ": " + (std::isnan(value) ? "NaN" : "infinity") +
                                            " cannot be counted: add finite values only");
}

}  // namespace

std::span<const double> histogram::default_limits() { return *shared_default_limits(); }

const histogram::shared_limits& histogram::shared_default_limits() {
  // Never destroyed: other threads and static objects may use it while the process exits.
  static const shared_limits& limits =
      *new shared_limits(std::make_shared<const std::vector<double>>(make_default_limits()));
  return limits;
}

histogram::histogram(shared_limits limits)
    : limits_(std::move(limits)), counts_(limits_->size()), min_(DBL_MAX), max_(-DBL_MAX) {}

histogram::histogram() : histogram(shared_default_limits()) {}

histogram::histogram(std::span<const double> limits)
    : histogram(std::make_shared<const std::vector<double>>(
          checked(std::vector<double>(limits.begin(), limits.end())))) {}

histogram::histogram(const histogram_data& data) : histogram(std::span(data.bucket_limit)) {
  if (data.bucket.size() != data.bucket_limit.size()) {
    throw_histogram_error("bucket_limit has " + std::to_string(data.bucket_limit.size()) +
                          " values, but bucket has " + std::to_string(data.bucket.size()));
  }
  const auto is_count = [](double c) { return std::isfinite(c) && c >= 0; };
  if (!std::all_of(data.bucket.begin(), data.bucket.end(), is_count) || !is_count(data.num)) {
    throw_histogram_error("a count is negative or not finite");
  }
  counts_ = data.bucket;
  min_ = data.min;
  max_ = data.max;
  num_ = data.num;
  sum_ = data.sum;
  sum_squares_ = data.sum_squares;
}

void histogram::add(double value, std::string_view tag) {
  check(value, tag);
  count(value);
}

void histogram::add(std::span<const double> values, std::string_view tag) {
  for (const double v : values) check(v, tag);
  for (const double v : values) count(v);
}

void histogram::add(std::span<const float> values, std::string_view tag) {
  for (const float v : values) check(double{v}, tag);
  for (const float v : values) count(double{v});
}

void histogram::count(double value) noexcept {
  const auto limit = std::upper_bound(limits_->begin(), limits_->end() - 1, value);
  counts_[static_cast<std::size_t>(limit - limits_->begin())] += 1;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  num_ += 1;
  sum_ += value;
  sum_squares_ += value * value;
}

void histogram::merge(const histogram& other) {
  std::vector<double> counts = counts_;
  const std::vector<double>& own = *limits_;
  const std::vector<double>& theirs = *other.limits_;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    if (other.counts_[i] == 0) continue;
    // Finds the bucket with the same two limits.
    const auto at = std::upper_bound(own.begin(), own.end(), theirs[i]) - own.begin() - 1;
    const bool same = at >= 0 && own[static_cast<std::size_t>(at)] == theirs[i] &&
                      (at == 0) == (i == 0) &&
                      (i == 0 || own[static_cast<std::size_t>(at - 1)] == theirs[i - 1]);
    if (!same)
      throw_histogram_error("bucket limits differ from those of the histogram to merge into");
    counts[static_cast<std::size_t>(at)] += other.counts_[i];
  }
  counts_ = std::move(counts);
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  num_ += other.num_;
  sum_ += other.sum_;
  sum_squares_ += other.sum_squares_;
}

double histogram::mean() const noexcept { return num_ == 0 ? 0 : sum_ / num_; }

// Rounding can make it negative if all values are nearly equal.
double histogram::variance() const noexcept {
  if (num_ == 0) return 0;
  return std::max(0.0, (sum_squares_ * num_ - sum_ * sum_) / (num_ * num_));
}

double histogram::standard_deviation() const noexcept { return std::sqrt(variance()); }

double histogram::percentile(double p) const noexcept {
  if (num_ == 0) return 0;
  const double wanted = num_ * p / 100;
  double before = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const double now = before + counts_[i];
    if (now >= wanted && now > before) {
      const double low = before == 0 ? min_ : std::max((*limits_)[i - 1], min_);
      const double high = std::min((*limits_)[i], max_);
      return low + (high - low) * std::max(0.0, (wanted - before) / (now - before));
    }
    before = now;
  }
  return max_;
}

histogram_data histogram::encode() const {
  histogram_data data{min_, max_, num_, sum_, sum_squares_, {}, {}};
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const bool run_goes_on = counts_[i] == 0 && i + 1 < counts_.size() && counts_[i + 1] == 0;
    if (run_goes_on) continue;
    data.bucket_limit.push_back((*limits_)[i]);
    data.bucket.push_back(counts_[i]);
  }
  return data;
}

}  // namespace LEAT
