#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/io/reader/corruption.hpp"

namespace LEAT {

/// A point of a scalar series.
struct scalar_point {
  /// The training step.
  std::int64_t step = 0;
  double wall_time = 0;  ///< seconds since 1970
  /// The value of the scalar.
  float value = 0;
  friend bool operator==(const scalar_point&, const scalar_point&) = default;
};

/// A point of a histogram series.
struct histogram_point {
  /// The training step.
  std::int64_t step = 0;
  /// Seconds since 1970.
  double wall_time = 0;
  /// The histogram in its stored form.
  histogram_data value = {};
  friend bool operator==(const histogram_point&, const histogram_point&) = default;
};

/// The values of a run by tag, in the order of their steps.
struct event_series {
  /// The points of each tag. Each has a greater step than the previous one.
  template <class Point>
  using by_tag = std::map<std::string, std::vector<Point>, std::less<>>;

  /// The scalars.
  by_tag<scalar_point> scalars = {};
  /// The histograms.
  by_tag<histogram_point> histograms = {};
  std::uint64_t events = 0;     ///< events that were read
  std::uint64_t discarded = 0;  ///< values that were discarded; see event_accumulator
  friend bool operator==(const event_series&, const event_series&) = default;
};

/// An accumulator that combines events into series as TensorBoard does.
///
/// A run that is resumed from a checkpoint repeats steps. Two rules discard the values of the steps
/// that it repeats:
///
/// - A value discards the earlier values of its series with the same or a later step, as in
///   TensorBoard's data server.
/// - Each `start` after the first discards the values of all series with its step or a later one,
///   as in TensorBoard with `--load_fast=false`. This includes series that the resumed run has not
///   written yet.
///
/// Thread safety: thread-compatible. Reference: TensorBoard, StageReservoir of the data server, and
/// event_accumulator.
/// Cost: O(1) for each value, amortized.
class event_accumulator {
 public:
  /// Creates an accumulator whose add() throws resource_exhausted for more than `max_points`
  /// values.
  explicit event_accumulator(std::uint64_t max_points = UINT64_MAX) : max_points_(max_points) {}

  /// Adds the next event of the run.
  void add(event_record e);

  /// Returns the series of the events added so far.
  [[nodiscard]] const event_series& series() const noexcept { return series_; }
  /// Moves the series out; the accumulator must not be used afterwards.
  [[nodiscard]] event_series take() noexcept;

 private:
  void add_values(const event_record& e, summary& s);
  template <class Point>
  void add_point(event_series::by_tag<Point>& all, std::string tag, Point point);
  template <class Point>
  void discard_from(std::vector<Point>& points, std::int64_t step);
  template <class Point>
  void discard_from(event_series::by_tag<Point>& all, std::int64_t step);

  event_series series_;
  std::uint64_t points_ = 0;
  std::uint64_t max_points_;
  bool started_ = false;
};

/// Options of read_events().
struct event_reader_options {
  std::uint64_t max_record_size = std::uint64_t{256} << 20;  ///< maximum bytes of an event
  event_limits limits = {};                                  ///< of each event
  std::uint64_t max_points = 20'000'000;                     ///< maximum values of a run
  /// Treatment of a record that is corrupt or not an event. A truncated last record is neither: it
  /// is still being written.
  corruption_options corruption = {};
};

/// The result of read_events().
struct event_run {
  /// The values of the run.
  event_series series = {};
  std::vector<std::string> files = {};  ///< paths, in the order in which they were read
  std::uint64_t skipped = 0;            ///< corrupt records, or byte ranges, that were skipped
  std::uint64_t unwritten = 0;          ///< bytes of truncated last records
};

/// Reads the events of a run: all files of a directory whose names contain "tfevents", in the order
/// of their names.
///
/// The next call reads all files again, so that a system error, such as EIO, does not repeat unless
/// its cause persists.
///
/// Errors: not_found for a directory without such a file; invalid_argument for an empty path;
///         data_loss, with file and record, for corruption that the corruption policy does not
///         skip; resource_exhausted if a limit is exceeded; system errors.
/// Cancellation: before each read.
[[nodiscard]] task<event_run> read_events(std::string directory, event_reader_options options);
[[nodiscard]] task<event_run> read_events(std::string directory);

/// Returns the sorted paths of the runs under a directory: of each directory, itself included, that
/// contains such a file. Descends at most 32 levels. Symbolic links are followed. A directory to
/// which several paths lead is listed once, under the path with the fewest levels; of these, the
/// first in the order of the names.
/// Errors: invalid_argument for an empty path; system errors.
[[nodiscard]] task<std::vector<std::string>> find_event_runs(std::string directory);

}  // namespace LEAT
