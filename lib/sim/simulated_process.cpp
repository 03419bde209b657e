#include "leat/sim/simulated_process.hpp"

namespace LEAT::sim {

wall_time_point simulated_process::wall_time() const noexcept {
  constexpr std::chrono::seconds begin{946'684'800};  // 2000-01-01 00:00 UTC
  const auto since = begin + now_.time_since_epoch() + wall_offset_;
  return wall_time_point(std::chrono::duration_cast<wall_time_point::duration>(since));
}

}  // namespace LEAT::sim
