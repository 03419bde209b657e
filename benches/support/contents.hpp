#pragma once

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>

namespace bench {

/// The whole of a file.
inline std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Room that an inflater gets at a time.
inline constexpr std::size_t inflate_room = std::size_t{256} << 10;

}  // namespace bench
