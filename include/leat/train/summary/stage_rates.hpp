#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "leat/base/clock.hpp"
#include "leat/codec/event/event.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"

namespace leat {

/// Tells what the stages of a pipeline did between two moments, as scalars. For each stage:
///
///     NAME/records_per_second
///     NAME/bytes_per_second
///     NAME/waiting_for_input    share of the time of its tasks, from 0 to 1; waits that last
///     NAME/waiting_for_room     count too
///
///     leat::stage_rates rates(pipeline.stages(), scheduler.now());
///     ... from time to time:
///     co_await writer.add_summary(rates.sample(scheduler.now()), step);
///
/// A supervisor does so for supervisor_options::stages. The second of two stages of one name is
/// "NAME#2", and so on, as the consumers of two pipelines are.
///
/// Thread safety: thread-compatible; the stages may be at work. They must outlive it.
class stage_rates {
 public:
  stage_rates(std::span<const stage_metrics* const> stages, time_point now);

  /// Since the last sample, or the making. Without time in between all is 0.
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

}  // namespace leat
