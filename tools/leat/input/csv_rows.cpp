#include "input/csv_rows.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>

#include <fmt/format.h>

#include <leat/codec/example/example_builder.hpp>

#include "input/example_text.hpp"
#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

using leat::dtype;

// Limits the effect of an unclosed quote.
constexpr std::size_t largest_row = std::size_t{16} << 20;

}  // namespace

bool csv_rows::add(std::string_view line, std::string_view end_before) {
  bool after_quotes = false;
  if (quoted_) {
    fields_.back() += end_before;
  } else {
    fields_.assign(1, {});
    row_size_ = 0;
  }
  row_size_ += line.size() + 1;
  if (row_size_ > largest_row)
    throw row_error("row is larger than 16 MiB: check for an unclosed quote");
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted_) {
      if (c != '"') {
        fields_.back() += c;
      } else if (i + 1 < line.size() && line[i + 1] == '"') {
        fields_.back() += line[++i];
      } else {
        quoted_ = false;
        after_quotes = true;
      }
    } else if (c == delimiter_) {
      fields_.emplace_back();
      after_quotes = false;
    } else if (after_quotes) {
      throw row_error("text after a quoted field");
    } else if (c == '"' && quotes_) {
      if (!fields_.back().empty()) {
        throw row_error(
            "quote in an unquoted field: set --no-quotes if quotes have no meaning in this file");
      }
      quoted_ = true;
    } else {
      fields_.back() += c;
    }
  }
  return !quoted_;
}

void csv_rows::finish() const {
  if (quoted_) throw row_error("file ends within a quoted field");
}

const csv_field* find_duplicate(const std::vector<csv_field>& columns) {
  std::set<std::string_view> names;
  for (const csv_field& c : columns) {
    if (!names.insert(c.name).second) return &c;
  }
  return nullptr;
}

std::string quoted_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i) {
    text += fmt::format("{}'{}'", i > 0 ? ", " : "", escape_text(names[i]));
  }
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

std::vector<csv_field> parse_columns(const std::string& text, std::string_view option) {
  static const std::map<std::string, std::optional<dtype>, std::less<>> types{
      {"", std::nullopt},
      {":bytes", dtype::string},
      {":int64", dtype::int64},
      {":float", dtype::float32},
  };
  std::vector<csv_field> columns;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, comma - at);
    const std::size_t colon = std::min(part.rfind(':'), part.size());
    const auto found = types.find(part.substr(colon));
    const std::string name(part.substr(0, colon));
    if (name.empty() || found == types.end()) {
      throw usage_error(fmt::format(
          "{}: give columns such as name:int64,name:float,name:bytes, not '{}'", option, text));
    }
    columns.push_back({name, found->second});
    at = comma + 1;
  }
  if (const csv_field* const twice = find_duplicate(columns)) {
    throw usage_error(fmt::format("{}: column '{}' occurs twice", option, twice->name));
  }
  return columns;
}

namespace {

template <class Number>
Number parse_number(const std::string& text, const csv_field& column) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw row_error(fmt::format("column '{}': value '{}' is not of type {}", column.name, text,
                                kind_of(*column.type)));
  }
  return value;
}

// Adds a feature with one value, or with none if the field is empty.
template <class Number>
void add_number(leat::example_builder& to, const csv_field& column, const std::string& text) {
  std::vector<Number> values;
  if (!text.empty()) values.push_back(parse_number<Number>(text, column));
  to.add(column.name, values);
}

void add_field(leat::example_builder& to, const csv_field& column, const std::string& text) {
  if (column.type == dtype::int64) {
    add_number<std::int64_t>(to, column, text);
  } else if (column.type == dtype::float32) {
    add_number<float>(to, column, text);
  } else {
    to.add(column.name, {std::string_view(text)});
  }
}

}  // namespace

std::string to_example(const std::vector<csv_field>& columns,
                       const std::vector<std::string>& fields) {
  if (fields.size() != columns.size()) {
    throw row_error(fmt::format("row has {}, but there are {}", count_text(fields.size(), "field"),
                                count_text(columns.size(), "column")));
  }
  leat::example_builder example;
  for (std::size_t i = 0; i < fields.size(); ++i) add_field(example, columns[i], fields[i]);
  return example.serialize();
}

}  // namespace tool
