#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leat/async/task.hpp>
#include <leat/codec/compression/compression.hpp>

namespace tool {

/// Detects the compression of a file from its first bytes. Returns nothing for a file that can only
/// be read sequentially, such as a pipe.
[[nodiscard]] leat::task<std::optional<leat::compression>> detect_compression(std::string path);

/// Returns the bytes of all files, for a progress line; 0 if one is compressed or standard input,
/// because the size of its contents is unknown.
[[nodiscard]] std::uint64_t bytes_of(const std::vector<std::string>& paths);

}  // namespace tool
