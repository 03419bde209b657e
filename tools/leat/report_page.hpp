#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <leat/train/event_reader.hpp>

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
  double smoothing = 0;           ///< weight of the past; 0: none
  bool log_scale = false;         ///< of scalars whose values are all positive
  std::size_t max_points = 1000;  ///< of a curve
};

/// The percentiles of a histogram that are drawn, from the lowest to the highest.
[[nodiscard]] const std::vector<double>& drawn_percentiles();

/// Those of a histogram that was stored; none of one whose buckets make no sense.
[[nodiscard]] std::vector<double> percentiles_of(const leat::histogram_data& h);

/// A page that needs nothing besides itself: the curves of all runs, a chart for each tag.
[[nodiscard]] std::string report_page(const std::vector<reported_run>& runs,
                                      const page_options& options);

}  // namespace tool
