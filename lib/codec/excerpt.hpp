#pragma once

#include <string>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Returns the beginning of some bytes for a message: in quotes, at most 32 bytes, others than
/// printable ones as \xNN. It never shows a complete payload.
[[nodiscard]] std::string excerpt(std::string_view bytes);

}  // namespace LEAT::detail
