#pragma once

// A reference for comparison: splits CSV into records field by field, by the definition.

#include <cstddef>
#include <string_view>

namespace leat_test {

/// The first record of a text of CSV.
struct csv_row {
  std::size_t end = 0;   ///< the end of its text
  std::size_t next = 0;  ///< where the next record begins
  bool is_malformed = false;
  std::size_t fault_at = 0;  ///< the offset of the quote that is wrong
  std::size_t seen = 0;      ///< bytes that show that it is malformed
};

inline bool is_line_end(char c) { return c == '\n' || c == '\r'; }

/// Reads the first record. Precondition: the text is not empty.
inline csv_row first_csv_row(std::string_view text, char delimiter, bool quotes) {
  const auto ends_field = [&](std::size_t at) {
    return at == text.size() || text[at] == delimiter || is_line_end(text[at]);
  };
  for (std::size_t at = 0;; ++at) {  // where a field begins
    if (quotes && at < text.size() && text[at] == '"') {
      std::size_t quote = text.find('"', at + 1);
      while (quote != std::string_view::npos && text.substr(quote, 2) == "\"\"")
        quote = text.find('"', quote + 2);
      if (quote == std::string_view::npos) return {0, 0, true, at, text.size()};
      at = quote + 1;
      if (!ends_field(at)) return {0, 0, true, quote, quote + 1};
    } else {
      for (; !ends_field(at); ++at) {
        if (quotes && text[at] == '"') return {0, 0, true, at, at + 1};
      }
    }
    if (at == text.size()) return {at, at};
    if (text[at] == delimiter) continue;
    return {at, at + (text.substr(at, 2) == "\r\n" ? 2U : 1U)};
  }
}

/// Returns the end of the first line, with its line end.
inline std::size_t end_of_first_line(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && !is_line_end(text[at])) ++at;
  if (text.substr(at, 2) == "\r\n") return at + 2;
  return at < text.size() ? at + 1 : at;
}

/// Returns where the first line after the first one begins that is not blank.
inline std::size_t after_first_line(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && !is_line_end(text[at])) ++at;
  while (at < text.size() && is_line_end(text[at])) ++at;
  return at;
}

}  // namespace leat_test
