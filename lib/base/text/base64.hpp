#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leat::detail {

/// The bytes that base64 stands for, in the standard alphabet or that for URLs, padded or not;
/// empty when it is none. The command, which only encodes, has base64() in
/// tools/leat/terminal/text.cpp.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace leat::detail
