#pragma once

#include <optional>

#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/queue/queue_fullness.hpp"

namespace leat {

/// How full a stage is that holds elements, or blocks of them: a shuffle buffer, a prefetch, a map
/// with workers; its name is the scope. None for a stage that works where its output is asked for.
/// Thread safety: shared-safe.
[[nodiscard]] std::optional<fullness> queue_fullness(const stage_metrics& stage);

}  // namespace leat
