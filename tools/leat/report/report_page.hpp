#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <leat/train/summary/event_reader.hpp>

namespace tool {

/// A run of a report.
struct reported_run {
  std::string name;
  std::string path;
  leat::event_run content;
};

/// How a report looks.
struct page_options {
  std::string title = "leat report";
  double smoothing = 0;    ///< weight of the past; 0: none
  bool log_scale = false;  ///< of scalars whose values are all positive
  /// Of a curve. Not set: 1000, and fewer on a page with more than 200 curves.
  std::optional<std::size_t> max_points = {};
};

/// The percentiles of a histogram that are drawn, from the lowest to the highest.
[[nodiscard]] const std::vector<double>& drawn_percentiles();

/// Those of a histogram that was stored; none of one whose buckets make no sense.
[[nodiscard]] std::vector<double> percentiles_of(const leat::histogram_data& h);

/// A page that needs nothing besides itself: the curves of all runs, a chart for each tag. Also
/// well-formed XML, but for its first line.
[[nodiscard]] std::string report_page(const std::vector<reported_run>& runs,
                                      const page_options& options);

}  // namespace tool
