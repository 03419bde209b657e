#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tool {

/// True for well-formed UTF-8.
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

/// On one line and harmless to a terminal: printable UTF-8 as it is, the rest as \n, \t, \\ or
/// \x1b.
[[nodiscard]] std::string escaped(std::string_view bytes);

[[nodiscard]] std::string base64(std::string_view bytes);

/// "1.5 MiB", "17 bytes".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// "1 record", "2 records".
[[nodiscard]] std::string count_text(std::uint64_t count, std::string_view thing);

}  // namespace tool
