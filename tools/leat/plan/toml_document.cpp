#include "plan/toml_document.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>

#include <fmt/format.h>
#include <toml++/toml.h>

namespace tool {
namespace {

text_position to_position(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

// toml++ builds and destroys one table inside another for each part of a dotted key, by recursion.
// It limits the depth of arrays and inline tables, but not the number of parts.
constexpr std::size_t max_key_parts = 16;
constexpr std::size_t max_nesting = 64;

// Finds dotted keys with too many parts before toml++ sees the text. The scanner distinguishes
// strings, comments and the rest exactly as TOML does up to the first syntax error, where the
// parser stops.
class key_scanner {
 public:
  explicit key_scanner(std::string_view text) noexcept : text_(text) {}

  // Throws a toml_error for the first key that is too long.
  void check() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_string(c);
      } else if (c == '#') {
        skip_to_line_end();
      } else {
        count(c);
        advance();
      }
    }
  }

 private:
  void count(char c) {
    const auto byte = static_cast<unsigned char>(c);
    const bool in_key =
        std::isalnum(byte) || byte >= 0x80 || c == '_' || c == '-' || c == ' ' || c == '\t';
    if (c == '.') {
      if (++dots_ >= max_key_parts) {
        throw toml_error{where_, fmt::format("a dotted key has more than {} parts", max_key_parts)};
      }
    } else if (!in_key) {
      dots_ = 0;
    }
  }

  void advance() noexcept {
    if (text_[at_++] == '\n') {
      ++where_.line;
      where_.column = 1;
    } else {
      ++where_.column;
    }
  }

  void skip_to_line_end() noexcept {
    while (at_ < text_.size() && text_[at_] != '\n') advance();
  }

  void skip_string(char quote) noexcept {
    const std::string three(3, quote);
    const bool many_lines = text_.substr(at_).starts_with(three);
    const std::size_t quotes = many_lines ? 3 : 1;
    for (std::size_t i = 0; i < quotes; ++i) advance();
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (!many_lines && c == '\n') return;  // a syntax error
      if (c == '\\' && quote == '"') {
        advance();
      } else if (c == quote && (!many_lines || text_.substr(at_).starts_with(three))) {
        // A text of many lines may end with up to two more quotes: five in a row.
        const std::size_t most = many_lines ? 5 : 1;
        for (std::size_t i = 0; i < most && at_ < text_.size() && text_[at_] == quote; ++i) {
          advance();
        }
        return;
      }
      if (at_ < text_.size()) advance();
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t dots_ = 0;  // of the current key
  text_position where_{1, 1};
};

toml_value value_of(const toml::node& node, std::size_t depth);

toml_value::table table_of(const toml::table& from, std::size_t depth) {
  toml_value::table entries;
  for (const auto& [key, node] : from) {
    entries.push_back({std::string(key.str()), to_position(key.source()), value_of(node, depth)});
  }
  std::ranges::sort(entries, {}, &toml_value::entry::where);
  return entries;
}

toml_value value_of(const toml::node& node, std::size_t depth) {
  toml_value v;
  v.where = to_position(node.source());
  if (depth > max_nesting) {
    throw toml_error{v.where,
                     fmt::format("tables and lists are nested more than {} deep", max_nesting)};
  }
  if (const toml::table* const table = node.as_table()) {
    v.value = table_of(*table, depth + 1);
  } else if (const toml::array* const array = node.as_array()) {
    toml_value::list& list = v.value.emplace<toml_value::list>();
    for (const toml::node& element : *array) list.push_back(value_of(element, depth + 1));
  } else if (const auto* const text = node.as_string()) {
    v.value = text->get();
  } else if (const auto* const integer = node.as_integer()) {
    v.value = integer->get();
  } else if (const auto* const number = node.as_floating_point()) {
    v.value = number->get();
  } else if (const auto* const boolean = node.as_boolean()) {
    v.value = boolean->get();
  }
  return v;
}

}  // namespace

toml_value parse_toml(std::string_view text) {
  try {
    key_scanner(text).check();
    return value_of(toml::parse(text), 0);
  } catch (const toml::parse_error& e) {
    throw toml_error{to_position(e.source()), std::string(e.description())};
  }
}

}  // namespace tool
