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

/// The whole of a file.
inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// How many records are decoded in memory, again and again: about as many as a reader has in one
/// chunk, which is in a cache when they are decoded.
inline constexpr std::size_t records_at_once = 256;

/// The first records of a TFRecord file; their checksums are not looked at.
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

/// Room that an inflater gets at a time.
inline constexpr std::size_t inflate_room = std::size_t{256} << 10;

}  // namespace bench
