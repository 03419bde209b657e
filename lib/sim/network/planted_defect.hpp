#pragma once

#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT::sim {

/// Returns true if a test has planted this defect, to check that it would be found: see
/// tests/sim/network/planted_defect.cpp. Always false in the library.
#ifdef LEAT_PLANTED_DEFECTS
[[nodiscard]] bool is_planted(std::string_view defect) noexcept;
#else
[[nodiscard]] constexpr bool is_planted(std::string_view) noexcept { return false; }
#endif

}  // namespace LEAT::sim
