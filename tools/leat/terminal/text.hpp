#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

/// Returns true for well-formed UTF-8.
[[nodiscard]] bool is_utf8(std::string_view bytes) noexcept;

/// Escapes bytes for a terminal, on one line: keeps printable UTF-8, and writes the rest as \n, \t,
/// \\ or \x1b.
[[nodiscard]] std::string escape_text(std::string_view bytes);

/// Like escape_text(), but does not escape a backslash. For messages and
/// file names.
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
