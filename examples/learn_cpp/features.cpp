#include "features.hpp"

#include <algorithm>
#include <cctype>

namespace {

std::string_view trimmed(std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t") - first + 1);
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::uint16_t hash(std::string_view text, std::uint32_t kind) {
  std::uint32_t h = 2166136261U + kind * 0x9E3779B9U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<std::uint16_t>(h ^ (h >> 16));
}

void add(sample& s, std::uint16_t feature) {
  if (s.count < sample::max_features) s.features[s.count++] = feature;
}

}  // namespace

bool is_useful(std::string_view line) {
  line = trimmed(line);
  return line.size() >= 12 && !line.starts_with("/*") && !line.starts_with("*") &&
         !line.starts_with("//");
}

sample make_sample(std::string_view line, bool is_cpp) {
  sample s;
  s.is_cpp = is_cpp;
  const std::string_view text = trimmed(line).substr(0, 60);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i + 2 <= text.size()) add(s, hash(text.substr(i, 2), 2));
    if (i + 4 <= text.size() && i % 2 == 0) add(s, hash(text.substr(i, 4), 4));
    if (is_word(text[i]) && (i == 0 || !is_word(text[i - 1]))) {
      const auto end =
          std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(i), text.end(), is_word);
      add(s, hash({text.data() + i, static_cast<std::size_t>(end - text.begin()) - i}, 1));
    }
  }
  return s;
}
