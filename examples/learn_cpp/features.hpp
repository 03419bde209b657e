#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// A line of source as the model sees it: which n-grams it holds, hashed to 16 bits each, and
/// whether it is from C++. Of fixed size, so that a million of them need no allocation.
struct sample {
  static constexpr std::size_t max_features = 126;
  static constexpr std::size_t feature_space = 1U << 16;

  std::array<std::uint16_t, max_features> features;
  std::uint8_t count = 0;
  bool is_cpp = false;
};

/// True for a line worth learning from: long enough, and no comment.
bool is_useful(std::string_view line);

/// Hashes the words of a line and, of its beginning, the runs of 2 and some of 4 characters.
sample make_sample(std::string_view line, bool is_cpp);
