#pragma once

#include <optional>

#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/queue/queue_fullness.hpp"

namespace LEAT {

/// Returns the fullness of a stage that holds elements or blocks (a shuffle buffer, a prefetch, a
/// map with workers), or an empty optional for any other stage. The scope is the name of the stage.
/// See queue_fullness().
///
/// Thread safety: thread-safe.
[[nodiscard]] std::optional<fullness> stage_fullness(const stage_metrics& stage);

}  // namespace LEAT
