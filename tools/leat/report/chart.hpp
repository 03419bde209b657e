#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/series.hpp"

namespace tool {

/// Escapes text for HTML and XML, for use in text and in quoted attributes. Also replaces
/// characters that a page must not contain.
[[nodiscard]] std::string escape_html(std::string_view text);

/// A line of a chart: the values of a run.
struct curve {
  enum class kind {
    plain,          ///< the values themselves
    faint,          ///< the values, drawn behind a smoothed curve
    smooth_linear,  ///< smoothed, for a linear axis
    smooth_log,     ///< smoothed in logarithms, for a logarithmic axis
  };
  /// An area around the line: its lower and upper edge at each sample.
  using band = std::vector<std::pair<double, double>>;

  std::size_t run = 0;  ///< of its colour, and of the box that hides it
  std::string name;     ///< of the run
  kind what = kind::plain;
  double begin = 0;  ///< seconds since 1970 of the beginning of the run
  std::vector<sample> samples;
  std::vector<band> bands;
};

/// A chart over the steps as an SVG element, with axes. The style sheet of the page determines its
/// appearance. The attributes of its groups contain the samples, so that the script of the page can
/// redraw it over another axis.
struct chart {
  std::string title;        ///< for screen readers
  std::string description;  ///< for screen readers
  std::vector<curve> curves;
  bool log = false;               ///< draws on a logarithmic axis if all values have a logarithm
  std::size_t max_points = 1000;  ///< of a curve without bands

  /// True if there is a value to draw.
  [[nodiscard]] bool has_values() const noexcept;
  /// True if there are values, and all finite ones are positive.
  [[nodiscard]] bool can_be_logarithmic() const noexcept;

  /// The element, and a note below it if values are outside of the axis.
  [[nodiscard]] std::string html() const;
};

}  // namespace tool
