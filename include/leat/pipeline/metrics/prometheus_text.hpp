#pragma once

#include <optional>
#include <span>
#include <string>

#include "leat/base/clock.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat {

/// The Content-Type with which a server gives the text away.
inline constexpr const char* prometheus_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// What stages and queues count, as text that Prometheus reads: its exposition format 0.0.4.
///
///     const leat::stage_metrics* const stages[] = {&readers, &consumer};
///     const leat::queue_base* const queues[] = {&names.queue(), &batches.queue()};
///     reply(leat::prometheus_text(stages, queues, sched.now()));
///
/// Metrics begin with leat_stage_ and have the label "stage", or with leat_queue_ and "queue": the
/// names of the objects. The second of two of one name is "name#2", and so on; keep their order.
/// Times are in seconds; what only grows ends in _total. Weights are there for queues that weigh.
///
/// With `now` waits that last count up to then, see stage_metrics. A queue's numbers are those of
/// one moment.
///
/// Thread safety: thread-safe. Errors: std::bad_alloc. Cost: O(stages + queues).
[[nodiscard]] std::string prometheus_text(std::span<const stage_metrics* const> stages,
                                          std::span<const queue_base* const> queues,
                                          std::optional<time_point> now = {});

}  // namespace leat
