#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// Returns the contents of a file.
inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The number of records that a workload decodes repeatedly in memory. They fit into a CPU cache,
/// like the records of one chunk of a reader.
inline constexpr std::size_t records_at_once = 256;

/// Returns the first records of a TFRecord file, without verifying their checksums.
inline std::vector<std::string_view> first_records(std::string_view file) {
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at < file.size() && all.size() < records_at_once;) {
    std::uint64_t size;
    std::memcpy(&size, file.data() + at, sizeof size);
    all.push_back(file.substr(at + 12, size));
    at += 16 + size;
  }
  return all;
}

/// The size of the output buffer of an inflater.
inline constexpr std::size_t inflate_buffer_size = std::size_t{256} << 10;

}  // namespace bench
