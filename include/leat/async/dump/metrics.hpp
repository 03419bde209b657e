#pragma once

#include <chrono>
#include <string>

#include "leat/base/clock.hpp"

namespace LEAT {

/// The Content-Type with which a server sends the text of metrics() and prometheus_text().
inline constexpr const char* prometheus_content_type = "text/plain; version=0.0.4; charset=utf-8";

/// Returns counters of the whole process in the exposition format 0.0.4 of Prometheus: schedulers,
/// queues, blocking pools, and the primitives on which an operation has waited.
///
///     reply(leat::metrics());  // to GET /metrics
///
/// docs/metrics.md lists the metrics. Each scheduler has the label "scheduler": the smallest number
/// that no other living scheduler has. Its counters continue those of the previous scheduler of
/// this number. Objects of the same type and name share one series, which is the sum over them, or
/// the maximum for peaks. The counters of destroyed objects remain in the sum while other objects
/// of their name exist. So the number of series does not grow with the number of objects. A sum
/// decreases only if a name is used again after its last object was destroyed: it starts at 0.
///
/// The times and long turns of schedulers are measured while a warn_on_long_turns exists.
/// Append prometheus_text() of the stages of your pipelines to the text, without queues.
///
/// As in a dump, the schedulers that have tasks report the queues and primitives that only their
/// threads use. The call waits until they have replied, or for `patience`, and then reads the rest
/// itself. Schedulers are counted even if they do not reply.
///
/// Errors:        std::bad_alloc.
/// Thread safety: thread-safe. In a task, the wait blocks its scheduler: call it in
///                run_blocking() if others may be busy for long.
/// Cost:          a post to each scheduler that has tasks; O(objects). Like a dump, it may take the
///                cheap lock from a queue whose thread runs no leat tasks; see docs/debugging.md.
///                Counters that you do not read cost at most one increment for each task.
[[nodiscard]] std::string metrics(time_span patience = std::chrono::milliseconds(100));

}  // namespace LEAT
