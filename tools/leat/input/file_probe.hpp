#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leat/async/task.hpp>
#include <leat/codec/compression/compression.hpp>

namespace tool {

/// The compression that the first bytes of a file tell. Empty for what can only be read in
/// sequence, such as a pipe.
[[nodiscard]] leat::task<std::optional<leat::compression>> detect_compression(std::string path);

/// Bytes of all files, for a progress bar; 0 if one is compressed, because its contents have
/// another size.
[[nodiscard]] std::uint64_t bytes_of(const std::vector<std::string>& paths);

}  // namespace tool
