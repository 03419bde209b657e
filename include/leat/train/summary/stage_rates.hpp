#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "leat/base/clock.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"

namespace LEAT {

/// A sampler of the activity of pipeline stages between two moments, as scalars. For each stage:
///
///     NAME/records_per_second
///     NAME/bytes_per_second
///     NAME/waiting_for_input    share of its tasks' time, from 0 to 1
///     NAME/waiting_for_room     share of its tasks' time, from 0 to 1
///
/// A wait that has not ended counts too.
///
///     leat::stage_rates rates(pipeline.stages(), scheduler.now());
///     ... from time to time:
///     co_await writer.add_summary(rates.sample(scheduler.now()), step);
///
/// A supervisor does this for supervisor_options::stages. The second of two stages with the same
/// name, such as the consumers of two pipelines, is called "NAME#2", and so on.
///
/// Thread safety: thread-compatible; the stages may be running. They must outlive the stage_rates.
class stage_rates {
 public:
  stage_rates(std::span<const stage_metrics* const> stages, time_point now);

  /// Returns the rates since the last sample, or since construction. If no time has passed, all
  /// are 0.
  [[nodiscard]] summary sample(time_point now);

 private:
  struct counters {
    std::uint64_t records;
    std::uint64_t bytes;
    duration input;
    duration room;
  };
  struct stage {
    const stage_metrics* metrics;
    std::string name;
    counters last;
  };

  [[nodiscard]] static counters read(const stage_metrics& m, time_point now) noexcept;

  std::vector<stage> stages_;
  time_point time_;
};

}  // namespace LEAT
