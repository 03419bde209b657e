#pragma once

#include <string>
#include <string_view>

namespace leat::detail {

/// The beginning of some bytes as a message may show them: in quotes, at most 32 of them, what does
/// not print as \xNN. Never a whole payload.
[[nodiscard]] std::string excerpt(std::string_view bytes);

}  // namespace leat::detail
