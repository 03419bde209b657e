#include "leat/pipeline/metrics/stage_fullness.hpp"

#include <cstddef>

namespace LEAT {

std::optional<fullness> stage_fullness(const stage_metrics& stage) {
  if (stage.capacity() == 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(stage.held());
  return queue_fullness(stage.name(),
                        {.size = size, .capacity = static_cast<std::size_t>(stage.capacity())});
}

}  // namespace LEAT
