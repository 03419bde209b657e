#include "leat/sim/world_part.hpp"

namespace LEAT::sim {

void world_part::set_time(time_point, wall_time_point) noexcept {}

std::size_t world_part::due(time_point) const noexcept { return 0; }

std::string world_part::complete(std::size_t) { return {}; }

}  // namespace LEAT::sim
