#include <utility>

#include "leat/base/error.hpp"
#include "leat/train/summary/event_reader.hpp"

namespace LEAT {

// The steps of a series ascend, so the points to discard are the last ones.
template <class Point>
void event_accumulator::discard_from(std::vector<Point>& points, std::int64_t step) {
  while (!points.empty() && points.back().step >= step) {
    points.pop_back();
    ++series_.discarded;
    --points_;
  }
}

template <class Point>
void event_accumulator::discard_from(event_series::by_tag<Point>& all, std::int64_t step) {
  for (auto& [tag, points] : all) discard_from(points, step);
  std::erase_if(all, [](const auto& entry) { return entry.second.empty(); });
}

template <class Point>
void event_accumulator::add_point(event_series::by_tag<Point>& all, std::string tag, Point point) {
  std::vector<Point>& points = all[std::move(tag)];
  discard_from(points, point.step);
  if (points_ >= max_points_) {
    throw failure(errc::resource_exhausted, "more than " + std::to_string(max_points_) +
                                                " values: raise event_reader_options::max_points");
  }
  points.push_back(std::move(point));
  ++points_;
}

void event_accumulator::add_values(const event_record& e, summary& s) {
  for (summary_value& v : s.values) {
    if (const auto* const scalar = std::get_if<float>(&v.value)) {
      add_point(series_.scalars, std::move(v.tag), {e.step, e.wall_time, *scalar});
    } else if (auto* const histogram = std::get_if<histogram_data>(&v.value)) {
      add_point(series_.histograms, std::move(v.tag), {e.step, e.wall_time, std::move(*histogram)});
    }
  }
}

event_series event_accumulator::take() noexcept { return std::move(series_); }

void event_accumulator::add(event_record e) {
  ++series_.events;
  if (const auto* const log = std::get_if<session_log>(&e.what)) {
    if (log->status != session_log::start || !std::exchange(started_, true)) return;
    discard_from(series_.scalars, e.step);
    discard_from(series_.histograms, e.step);
  } else if (auto* const s = std::get_if<summary>(&e.what)) {
    add_values(e, *s);
  }
}

}  // namespace LEAT
