#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// The features of a line of source: its n-grams, each hashed to 16 bits, and whether the line is
/// C++. The size is fixed, so a sample allocates no memory.
struct sample {
  static constexpr std::size_t max_features = 126;
  static constexpr std::size_t feature_space = 1U << 16;

  std::array<std::uint16_t, max_features> features;
  std::uint8_t count = 0;
  bool is_cpp = false;
};

/// Returns true if the line is long enough to learn from and is not a comment.
bool is_useful(std::string_view line);

/// Hashes the words, the 2-grams and every second 4-gram of the first 60 characters of a line.
sample make_sample(std::string_view line, bool is_cpp);
