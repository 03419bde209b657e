#pragma once

#include <span>

#include "async/dump/internal/metric_sample.hpp"
#include "leat/queue/queue_statistics.hpp"

namespace LEAT::detail {

/// A metric of queues.
struct queue_metric {
  metric_family family;
  metric_value (*value)(const queue_statistics& q) noexcept;
  bool is_of_weight = false;  ///< only of queues with a weight function
};

/// The metrics that metrics() and prometheus_text() write.
[[nodiscard]] std::span<const queue_metric> queue_metrics() noexcept;

}  // namespace LEAT::detail
