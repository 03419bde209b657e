#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// For HTML and XML, in text and in attributes between quotes: what has a meaning there is
/// replaced, and so is what a page must not hold.
[[nodiscard]] std::string html_escaped(std::string_view text);

struct point {
  double x = 0;
  double y = 0;
};

/// A line of a chart. A y that is not finite is a gap.
struct curve {
  std::size_t color = 0;
  bool faint = false;  ///< behind the others: what was smoothed away
  std::vector<point> points;
};

/// An area of a chart, between a lower and an upper line over the same x.
struct band {
  struct slice {
    double x, low, high;
  };
  std::size_t color = 0;
  std::vector<slice> slices;
};

/// A chart as an SVG element, with axes; its look is in the style sheet of the page.
struct chart {
  std::string title;        ///< for those who do not see it
  std::string description;  ///< the same
  std::vector<band> bands;
  std::vector<curve> curves;
  bool log_y = false;  ///< the y of points are logarithms to base 10, and labels show the values

  /// True if there is a point to draw.
  [[nodiscard]] bool has_points() const noexcept;

  [[nodiscard]] std::string svg() const;
};

/// Round numbers that cover the span from `low` to `high`, `count` of them or a few more or less.
[[nodiscard]] std::vector<double> ticks(double low, double high, int count);

/// At most `count` of the points, with the smallest and largest of each stretch among them.
[[nodiscard]] std::vector<point> thinned(const std::vector<point>& points, std::size_t count);

/// The exponential moving average with this weight of the past, from 0 to 1, corrected for its
/// beginning. Gaps stay.
[[nodiscard]] std::vector<point> smoothed(const std::vector<point>& points, double weight);

/// "0.25", "1.5e+06"
[[nodiscard]] std::string number_text(double value);

}  // namespace tool
