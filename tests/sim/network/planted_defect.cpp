// The defect that this program plants in the simulated network: see tests/meson.build.

#include "sim/network/planted_defect.hpp"

#include <cstdlib>

#include "leat/base/flavour.hpp"

namespace LEAT::sim {

bool is_planted(std::string_view defect) noexcept {
  static const char* const chosen = std::getenv("LEAT_PLANTED");
  return chosen && defect == chosen;
}

}  // namespace LEAT::sim
