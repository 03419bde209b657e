#pragma once

#include <string_view>

#include "leat/base/flavour.hpp"

// The rules and messages about text that the decoder, the splitter and the readers of CSV share.

namespace LEAT::detail {

[[nodiscard]] constexpr bool is_csv_delimiter(char c) noexcept {
  return c != '"' && c != '\r' && c != '\n';
}

/// The byte order mark of UTF-8.
inline constexpr std::string_view utf8_mark = "\xEF\xBB\xBF";

/// Returns a text without this mark, which belongs to no name.
[[nodiscard]] constexpr std::string_view without_utf8_mark(std::string_view text) noexcept {
  return text.starts_with(utf8_mark) ? text.substr(utf8_mark.size()) : text;
}

/// Returns true if a text begins with the byte order mark of UTF-16.
[[nodiscard]] constexpr bool is_utf16(std::string_view text) noexcept {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

inline constexpr char quote_in_unquoted_field[] =
    "quote in an unquoted field: enclose the field in quotes and double the quotes inside";
inline constexpr char quote_in_quoted_field[] =
    "quote in a quoted field: double it, or end the field or the record after it";
inline constexpr char no_closing_quote[] = "quoted field has no closing quote";

}  // namespace LEAT::detail
