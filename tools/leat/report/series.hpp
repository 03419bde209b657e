#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace tool {

/// A value of a run.
struct sample {
  std::int64_t step = 0;
  double time = 0;   ///< seconds since the beginning of the run
  double value = 0;  ///< not finite: a gap
};

/// The numbers from `low` to `high`; empty before cover().
struct range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  /// Extends the range to `v`, unless that is not finite.
  void cover(double v) noexcept;
  /// Widens an empty range, or a range of one number, so that it can be drawn.
  void widen() noexcept;
  /// Returns half of the width, because the full width may exceed the largest double.
  [[nodiscard]] double half_width() const noexcept { return high / 2 - low / 2; }
};

/// The finite values of a run: all, and those between the percentiles 1 and 99.
struct spread {
  range all;
  range most;  ///< the same as `all` if there are less than 20 values
};

[[nodiscard]] spread compute_spread(const std::vector<sample>& samples);

/// Round numbers that cover the range from `low` to `high`, about `count` of them.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);

/// Logarithms of round numbers: `low` and `high` are logarithms to base 10 too.
[[nodiscard]] std::vector<double> log_ticks(double low, double high, int count);

/// At most `count` of the samples. Keeps the smallest and the largest value of each stretch.
[[nodiscard]] std::vector<sample> thinned(const std::vector<sample>& samples, std::size_t count);

/// The exponential moving average with this weight of the past, from 0 to 1, corrected for its
/// beginning. With `log` it is the average of the logarithms: all finite values must be positive.
/// Gaps stay.
[[nodiscard]] std::vector<sample> smoothed(std::vector<sample> samples, double weight, bool log);

/// "0.25", "1.5e+06"
[[nodiscard]] std::string number_text(double value);

/// "500", "20k", "1.5M"
[[nodiscard]] std::string step_text(double step);

}  // namespace tool
