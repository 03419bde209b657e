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

namespace leat {

/// A value of a curve.
struct scalar_point {
  std::int64_t step = 0;
  double wall_time = 0;  ///< seconds since 1970
  float value = 0;
  friend bool operator==(const scalar_point&, const scalar_point&) = default;
};

/// A histogram of a series.
struct histogram_point {
  std::int64_t step = 0;
  double wall_time = 0;
  histogram_data value = {};
  friend bool operator==(const histogram_point&, const histogram_point&) = default;
};

/// What the events of a run come to: for each tag its values, in the order in which they were
/// written.
struct event_series {
  template <class Point>
  using by_tag = std::map<std::string, std::vector<Point>, std::less<>>;

  by_tag<scalar_point> scalars = {};
  by_tag<histogram_point> histograms = {};
  std::uint64_t events = 0;     ///< that were read
  std::uint64_t discarded = 0;  ///< values that a restart has taken back
  friend bool operator==(const event_series&, const event_series&) = default;
};

/// Makes series of events as TensorBoard does.
///
/// In files of version 2 each `start` but the first means that the run has begun anew at its step:
/// what was read of that step and later ones is discarded. In older files, which have no `start`, a
/// step that is smaller than the last one means it for the tags of its summary.
///
/// Thread safety: thread-compatible. Reference: TensorBoard, event_accumulator.
class event_accumulator {
 public:
  /// Errors: resource_exhausted for more than `max_points` values.
  explicit event_accumulator(std::uint64_t max_points = UINT64_MAX) : max_points_(max_points) {}

  /// The next event of the run.
  void add(event_record e);

  [[nodiscard]] const event_series& series() const noexcept { return series_; }
  /// Moves the series out; the accumulator must not be used afterwards.
  [[nodiscard]] event_series take() noexcept;

 private:
  void add_values(const event_record& e, summary& s);
  void check_for_restart(const event_record& e);
  void discard(std::int64_t step, std::string_view tag);
  void discard_all(std::int64_t step);

  event_series series_;
  std::uint64_t points_ = 0;
  std::uint64_t max_points_;
  double version_ = 0;
  bool started_ = false;
  std::int64_t last_step_ = 0;
};

/// How the events of a run are read.
struct event_reader_options {
  std::uint64_t max_record_size = std::uint64_t{256} << 20;  ///< bytes of an event
  event_limits limits = {};
  std::uint64_t max_points = 20'000'000;  ///< values of a run
  /// What happens to a record that is corrupt, or no event. A last record that is cut off is none:
  /// it is not written yet.
  corruption_options corruption = {};
};

/// A run that was read.
struct event_run {
  event_series series = {};
  std::vector<std::string> files = {};  ///< paths, in the order in which they were read
  std::uint64_t skipped = 0;    ///< records, or runs of bytes, that were left out as corrupt
  std::uint64_t unwritten = 0;  ///< bytes of last records that are not whole yet
};

/// Reads the events of a run: of all files of a directory whose name contains "tfevents", in the
/// order of their names.
///
/// Errors: not_found for a directory without such a file; invalid_argument for an empty path;
///         data_loss for corruption, with file and record, as the corruption policy says;
///         resource_exhausted for more than a limit; of the system. The next call reads all files
///         again, so that an error of the system, such as EIO, does not repeat unless its cause
///         lasts.
/// Cancellation: before each read.
[[nodiscard]] task<event_run> read_events(std::string directory, event_reader_options options);
[[nodiscard]] task<event_run> read_events(std::string directory);

/// The runs below a directory: each directory, itself included, that holds such a file. Sorted.
/// Errors: invalid_argument for an empty path; of the system. Follows directories 32 deep.
[[nodiscard]] task<std::vector<std::string>> find_event_runs(std::string directory);

}  // namespace leat
