#pragma once

#include <cstddef>
#include <string>

#include "leat/base/random.hpp"

namespace leat_test {

/// Returns words of a small vocabulary, which compress about as well as prose.
inline std::string prose(std::size_t size, std::uint64_t seed = 1) {
  leat::random_engine random(seed);
  std::string vocabulary[200];
  for (std::string& word : vocabulary) {
    word.resize(2 + static_cast<std::size_t>(random.uniform_below(9)));
    for (char& c : word) c = static_cast<char>('a' + random.uniform_below(26));
  }
  std::string text;
  while (text.size() < size) {
    text += vocabulary[std::min(random.uniform_below(200), random.uniform_below(200))];
    text += random.uniform_below(12) == 0 ? '\n' : ' ';
  }
  text.resize(size);
  return text;
}

/// Returns bytes that cannot be compressed.
inline std::string noise(std::size_t size, std::uint64_t seed = 1) {
  leat::random_engine random(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

}  // namespace leat_test
