#pragma once

#include <optional>
#include <span>
#include <string>

#include "leat/async/dump/metrics.hpp"
#include "leat/base/clock.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/queue/queue_base.hpp"

namespace LEAT {

/// Returns the metrics of stages and queues as text in the exposition format 0.0.4 of Prometheus.
///
///     const leat::stage_metrics* const stages[] = {&readers, &consumer};
///     const leat::queue_base* const queues[] = {&names.queue(), &batches.queue()};
///     reply(leat::prometheus_text(stages, queues, sched.now()));
///
/// Metrics of stages begin with leat_stage_, metrics of queues with leat_queue_. The label "stage"
/// or "queue" has the name of the object. The second object with the same name gets the label
/// "name#2", and so on, so keep the order of the objects. Times are in seconds; the names of
/// metrics that only grow end in _total. Only queues with a weight function have weights.
///
/// With `now`, waits in progress count up to that time; see stage_metrics. All numbers of a queue
/// are from the same moment.
///
/// Errors:        std::bad_alloc.
/// Thread safety: thread-safe.
/// Cost:          O(stages + queues).
[[nodiscard]] std::string prometheus_text(std::span<const stage_metrics* const> stages,
                                          std::span<const queue_base* const> queues,
                                          std::optional<time_point> now = {});

}  // namespace LEAT
