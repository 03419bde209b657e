#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// True for well-formed UTF-8.
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

/// On one line and harmless to a terminal: printable UTF-8 as it is, the rest as \n, \t, \\ or
/// \x1b.
[[nodiscard]] std::string escape_text(std::string_view bytes);

/// Text for a person, such as a message with a file name. Like escape_text(), but a backslash is
/// not escaped.
[[nodiscard]] std::string escape_controls(std::string_view bytes);

[[nodiscard]] std::string base64(std::string_view bytes);

/// "1.5 MiB", "17 bytes".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// "1 record", "2 records".
[[nodiscard]] std::string count_text(std::uint64_t count, std::string_view thing);
/// "1 batch", "2 batches".
[[nodiscard]] std::string count_text(std::uint64_t count, std::string_view thing,
                                     std::string_view things);

/// "2 records in a.tfrecord", "9 records in a-0 to a-3".
[[nodiscard]] std::string written_text(std::uint64_t records,
                                       const std::vector<std::string>& paths);

}  // namespace tool
