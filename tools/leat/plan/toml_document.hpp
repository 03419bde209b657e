#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tool {

/// A position in a text; lines and columns count from 1. Line 0: no position.
struct text_position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  friend auto operator<=>(const text_position&, const text_position&) = default;
};

/// An error in a text, and its position.
struct toml_error {
  text_position where;
  std::string text;
};

/// A value of a TOML document, and its position.
struct toml_value {
  struct entry;
  using list = std::vector<toml_value>;
  using table = std::vector<entry>;  // in the order of the text
  struct date {};                    // or a time, which no key accepts

  std::variant<date, bool, std::int64_t, double, std::string, list, table> value;
  text_position where;

  template <class T>
  [[nodiscard]] const T* as() const noexcept {
    return std::get_if<T>(&value);
  }
};

/// A key of a table with its value.
struct toml_value::entry {
  std::string key;
  text_position where;  // of the key
  toml_value value;
};

/// Reads a document: a table.
///
/// Errors: a toml_error if the text is not TOML, if a dotted key has more than 16 parts, or if
/// tables and lists are nested more than 64 deep. Without these limits a small file could exhaust
/// the stack.
[[nodiscard]] toml_value parse_toml(std::string_view text);

}  // namespace tool
