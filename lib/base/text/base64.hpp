#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Decodes base64 in the standard or the URL alphabet, with or without padding; returns an empty
/// result if the text is not base64. The command, which only encodes, has base64() in
/// tools/leat/terminal/text.cpp.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace LEAT::detail
