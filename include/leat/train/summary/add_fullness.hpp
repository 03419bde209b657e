#pragma once

#include <span>

#include "leat/codec/event/event.hpp"
#include "leat/queue/queue_base.hpp"
#include "leat/queue/queue_fullness.hpp"

namespace LEAT {

/// Adds the current fullness of queues to a summary, each under the tag of queue_fullness().
/// Thread safety: other threads may use the queues during the call.
void add_fullness(summary& to, std::span<const queue_base* const> queues);

/// Adds one value, such as the result of stage_fullness().
void add_fullness(summary& to, const fullness& f);

}  // namespace LEAT
