#pragma once

// Lines in a few files, and functions that return no, one or several elements for an element or a
// batch.

#include <initializer_list>

#include "pipeline/resuming.hpp"
#include "support/leat_test.hpp"

namespace leat_test {

/// Returns a text that ends with an odd character, such as "1" or "a"; otherwise nothing.
inline std::optional<std::string> odd(std::string text) {
  if (text.back() % 2 == 0) return std::nullopt;
  return text;
}

/// Returns "123a", "123b" and "123c" for "123", and nothing for a text that ends with 4.
inline texts parts(const std::string& text) {
  texts all;
  if (text.back() == '4') return all;
  for (std::size_t i = 0; i < text.size(); ++i) all.push_back(text + char('a' + i));
  return all;
}

/// The lines of a batch.
inline texts same(const texts& batch) { return batch; }

/// The lines of a batch of batches.
inline texts lines_of_all(const std::vector<texts>& batches) {
  texts all;
  for (const texts& b : batches) all.insert(all.end(), b.begin(), b.end());
  return all;
}

/// 60 lines in seven files, of which one is empty.
struct few_files {
  few_files() : few_files({5, 0, 12, 3, 9, 1, 30}) {}
  explicit few_files(std::initializer_list<int> lines_of_each) {
    int next = 90;
    for (int file = 0; const int lines : lines_of_each) {
      std::string text;
      for (int i = 0; i < lines; ++i) text += std::to_string(next++) + '\n';
      dir.write("lines" + std::to_string(file++), text);
    }
  }
  [[nodiscard]] auto read(std::uint64_t rank, std::uint64_t world_size,
                          std::uint64_t num_epochs = 1) const {
    return lines_of({.files = {dir / "lines*"},
                     .num_epochs = num_epochs,
                     .shuffle = num_epochs > 1,
                     .seed = 3,
                     .interleave = 2,
                     .block_length = 4,
                     .world = {.rank = rank, .world_size = world_size}});
  }
  temp_dir dir;
};

}  // namespace leat_test
