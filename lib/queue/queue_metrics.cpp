#include "queue/internal/queue_metrics.hpp"

#include <cstddef>

namespace LEAT::detail {
namespace {

using queue = queue_statistics;

metric_value limit_value(std::size_t n) noexcept { return {n, n == unbounded}; }

constexpr bool maximum = true;

constexpr queue_metric of_queues[] = {
    {{"leat_queue_items", "gauge", "Items in the queue."},
     [](const queue& q) noexcept { return metric_value{q.size}; }},
    {{"leat_queue_capacity_items", "gauge", "Capacity of the queue, in items."},
     [](const queue& q) noexcept { return limit_value(q.capacity); }},
    {{"leat_queue_min_items", "gauge", "Minimum size of the queue while it is open, in items."},
     [](const queue& q) noexcept { return metric_value{q.min_after_dequeue}; }},
    {{"leat_queue_peak_items", "gauge", "Largest number of items in the queue so far.", maximum},
     [](const queue& q) noexcept { return metric_value{q.peak_size}; }},
    {{"leat_queue_closed", "gauge", "1 if the queue is closed, otherwise 0."},
     [](const queue& q) noexcept { return metric_value{q.closed ? 1U : 0U}; }},
    {{"leat_queue_waiting_pushes", "gauge", "Operations that wait for free capacity."},
     [](const queue& q) noexcept { return metric_value{q.waiting_pushes}; }},
    {{"leat_queue_waiting_pops", "gauge", "Operations that wait for items."},
     [](const queue& q) noexcept { return metric_value{q.waiting_pops}; }},
    {{"leat_queue_pushed_items_total", "counter", "Items that were added."},
     [](const queue& q) noexcept { return metric_value{q.pushed}; }},
    // Added items that are not there. The count in the statistics falls when items are returned.
    {{"leat_queue_taken_items_total", "counter",
      "Items that were removed; a returned item counts again when it is removed again."},
     [](const queue& q) noexcept { return metric_value{q.pushed + q.returned - q.size}; }},
    {{"leat_queue_returned_items_total", "counter",
      "Items that were removed for a batch that was not completed, and were returned."},
     [](const queue& q) noexcept { return metric_value{q.returned}; }},
    {{"leat_queue_push_waits_total", "counter", "Operations that had to wait for free capacity."},
     [](const queue& q) noexcept { return metric_value{q.push_waits}; }},
    {{"leat_queue_pop_waits_total", "counter", "Operations that had to wait for items."},
     [](const queue& q) noexcept { return metric_value{q.pop_waits}; }},
    {{"leat_queue_refused_items_total", "counter",
      "Items that were not added because the queue was closed or had failed."},
     [](const queue& q) noexcept { return metric_value{q.refused}; }},
    {{"leat_queue_weight", "gauge", "Weight of the items in the queue."},
     [](const queue& q) noexcept { return metric_value{q.weight}; },
     true},
    {{"leat_queue_max_weight", "gauge", "Maximum weight of the queue."},
     [](const queue& q) noexcept { return limit_value(q.max_weight); },
     true},
    {{"leat_queue_peak_weight", "gauge", "Largest weight of the items in the queue so far.",
      maximum},
     [](const queue& q) noexcept { return metric_value{q.peak_weight}; },
     true},
};

}  // namespace

std::span<const queue_metric> queue_metrics() noexcept { return of_queues; }

}  // namespace LEAT::detail
