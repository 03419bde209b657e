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

/// Options of a report.
struct page_options {
  std::string title = "leat report";
  double smoothing = 0;    ///< weight of the past; 0: no average
  bool log_scale = false;  ///< of scalars whose values are all positive
  /// Of a curve. Not set: 1000, and fewer on a page with more than 200 curves.
  std::optional<std::size_t> max_points = {};
};

/// The percentiles of a histogram that are drawn, from the lowest to the highest.
[[nodiscard]] const std::vector<double>& drawn_percentiles();

/// Returns the drawn percentiles of a histogram; empty if its buckets are invalid.
[[nodiscard]] std::vector<double> percentiles_of(const leat::histogram_data& h);

/// Returns a page with the curves of all runs, and a chart for each tag. It loads no other
/// resources. Except for its first line, it is well-formed XML.
[[nodiscard]] std::string report_page(const std::vector<reported_run>& runs,
                                      const page_options& options);

}  // namespace tool
