#include <charconv>
#include <iterator>
#include <utility>

#include "leat/base/error.hpp"
#include "leat/train/summary/event_reader.hpp"

namespace leat {
namespace {

// Returns the number in "brain.Event:2", or 0.
double parse_version(std::string_view version) {
  constexpr std::string_view before = "brain.Event:";
  double number = 0;
  if (version.starts_with(before)) {
    version.remove_prefix(before.size());
    std::from_chars(version.data(), version.data() + version.size(), number);
  }
  return number;
}

// Keeps the order of the remaining points. Returns how many were removed.
template <class Points>
std::size_t drop_from_step(Points& points, std::int64_t step) {
  return std::erase_if(points, [step](const auto& p) { return p.step >= step; });
}

template <class Series>
std::size_t drop_tag(Series& all, std::string_view tag, std::int64_t step) {
  const auto found = all.find(tag);
  return found == all.end() ? 0 : drop_from_step(found->second, step);
}

template <class Series>
std::size_t drop_all_tags(Series& all, std::int64_t step) {
  std::size_t count = 0;
  for (auto& [tag, points] : all) count += drop_from_step(points, step);
  std::erase_if(all, [](const auto& entry) { return entry.second.empty(); });
  return count;
}

}  // namespace

void event_accumulator::discard(std::int64_t step, std::string_view tag) {
  const std::size_t count =
      drop_tag(series_.scalars, tag, step) + drop_tag(series_.histograms, tag, step);
  series_.discarded += count;
  points_ -= count;
}

void event_accumulator::discard_all(std::int64_t step) {
  const std::size_t count =
      drop_all_tags(series_.scalars, step) + drop_all_tags(series_.histograms, step);
  series_.discarded += count;
  points_ -= count;
}

void event_accumulator::check_for_restart(const event_record& e) {
  if (version_ >= 2) {
    const auto* const log = std::get_if<session_log>(&e.what);
    if (!log || log->status != session_log::start) return;
    if (std::exchange(started_, true)) discard_all(e.step);
    return;
  }
  const auto* const s = std::get_if<summary>(&e.what);
  if (s && e.step < last_step_) {
    for (const summary_value& v : s->values) discard(e.step, v.tag);
  } else {
    last_step_ = e.step;
  }
}

void event_accumulator::add_values(const event_record& e, summary& s) {
  for (summary_value& v : s.values) {
    const bool is_scalar = std::holds_alternative<float>(v.value);
    if (!is_scalar && !std::holds_alternative<histogram_data>(v.value)) continue;
    if (points_ >= max_points_) {
      throw failure(errc::resource_exhausted,
                    "more than " + std::to_string(max_points_) +
                        " values: raise event_reader_options::max_points");
    }
    ++points_;
    if (is_scalar) {
      series_.scalars[std::move(v.tag)].push_back({e.step, e.wall_time, std::get<float>(v.value)});
    } else {
      series_.histograms[std::move(v.tag)].push_back(
          {e.step, e.wall_time, std::get<histogram_data>(std::move(v.value))});
    }
  }
}

event_series event_accumulator::take() noexcept { return std::move(series_); }

void event_accumulator::add(event_record e) {
  ++series_.events;
  if (const auto* const version = std::get_if<file_version>(&e.what)) {
    version_ = parse_version(version->text);
  }
  check_for_restart(e);
  if (auto* const s = std::get_if<summary>(&e.what)) add_values(e, *s);
}

}  // namespace leat
