#include "input/csv_rows.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <leat/codec/decode_error.hpp>
#include <leat/codec/example/example_builder.hpp>

#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

using leat::dtype;

[[nodiscard]] bool is_number(const csv_field& c) {
  return c.type == dtype::int64 || c.type == dtype::float32;
}

}  // namespace

csv_rows::csv_rows(std::vector<csv_field> columns, std::vector<csv_field> selected,
                   leat::csv_options how)
    : how_(std::move(how)), columns_(std::move(columns)), selected_(std::move(selected)) {
  if (!columns_.empty()) make_decoders(columns_.size());
}

void csv_rows::read_header(std::string_view record) {
  const std::vector<std::string> header = leat::csv_decoder::header_names(record, how_);
  if (!selected_.empty()) {
    find_selected(header);
  } else {
    for (const std::string& name : header) columns_.push_back({name});
    if (const csv_field* const twice = find_duplicate(columns_)) {
      throw leat::decode_error(
          0, fmt::format(": column '{}' occurs twice in the header: set the names with --columns, "
                         "and skip this line with --skip-lines",
                         escape_text(twice->name)));
    }
    for (const csv_field& c : columns_) {
      if (is_utf8(c.name)) continue;
      throw leat::decode_error(
          0,
          fmt::format(": column '{}' is not UTF-8, as the name of a feature must be: convert the "
                      "file, or set --columns and --skip-lines",
                      escape_text(c.name)));
    }
  }
  make_decoders(header.size());
}

void csv_rows::find_selected(const std::vector<std::string>& header) {
  for (const csv_field& c : selected_) {
    const auto found = std::ranges::find(header, c.name);
    if (found == header.end()) {
      throw leat::decode_error(
          0, fmt::format(": --select: column '{}' is not in the header, which has {}",
                         escape_text(c.name), quoted_names(header)));
    }
    if (std::find(found + 1, header.end(), c.name) != header.end()) {
      throw leat::decode_error(0, fmt::format(": --select: column '{}' occurs twice in the header",
                                              escape_text(c.name)));
    }
    positions_.push_back(static_cast<std::size_t>(found - header.begin()));
  }
  columns_ = selected_;
}

// One decoder returns the text of all fields, and thus checks their number. The other one converts
// the numbers; only the texts show which of them are empty.
void csv_rows::make_decoders(std::size_t fields) {
  field_count_ = fields;
  for (std::size_t i = positions_.size(); i < columns_.size(); ++i) positions_.push_back(i);
  texts_.emplace(std::vector<leat::csv_column>(fields, leat::csv_column::optional("")), how_);
  std::map<std::size_t, std::size_t> in_order;  // position -> column
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (is_number(columns_[i])) in_order.emplace(positions_[i], i);
  }
  number_of_.assign(columns_.size(), 0);
  std::vector<leat::csv_column> numbers;
  leat::csv_options some = how_;
  for (const auto& [position, column] : in_order) {
    number_of_[column] = numbers.size();
    const csv_field& c = columns_[column];
    numbers.push_back(c.type == dtype::int64 ? leat::csv_column::optional(std::int64_t{0}, c.name)
                                             : leat::csv_column::optional(0.0F, c.name));
    some.select.push_back(position);
  }
  if (!numbers.empty()) numbers_.emplace(std::move(numbers), std::move(some));
}

std::vector<std::string> csv_rows::convert(std::span<const leat::byte_view> rows) const {
  leat::tensor_tuple texts;
  leat::tensor_tuple numbers;
  try {
    texts = texts_->decode(rows);
  } catch (const leat::decode_error& e) {
    if (numbers_) static_cast<void>(numbers_->decode(rows.first(e.record())));  // an earlier error
    throw;
  }
  if (numbers_) numbers = numbers_->decode(rows);
  std::vector<std::string> examples;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    leat::example_builder example;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string_view text = texts[positions_[c]].strings()[i];
      if (!is_number(columns_[c])) {
        example.add(columns_[c].name, {text});
      } else if (const leat::tensor& all = numbers[number_of_[c]];
                 columns_[c].type == dtype::int64) {
        example.add(columns_[c].name, all.values<std::int64_t>().subspan(i, text.empty() ? 0 : 1));
      } else {
        example.add(columns_[c].name, all.values<float>().subspan(i, text.empty() ? 0 : 1));
      }
    }
    examples.push_back(example.serialize());
  }
  return examples;
}

std::string csv_rows::convert_blank() const {
  leat::example_builder example;
  const csv_field& c = columns_.front();
  if (c.type == dtype::int64) {
    example.add(c.name, std::vector<std::int64_t>());
  } else if (c.type == dtype::float32) {
    example.add(c.name, std::vector<float>());
  } else {
    example.add(c.name, {std::string_view()});
  }
  return example.serialize();
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

}  // namespace tool
