#include "output/csv_sink.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <leat/base/error.hpp>

#include "input/example_text.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

using leat::dtype;

// The value of an empty field.
leat::tensor empty_text() {
  const std::string_view empty;
  return leat::tensor::of({}, std::span(&empty, 1));
}

}  // namespace

csv_sink::csv_sink(std::unique_ptr<record_sink> to, const std::vector<csv_field>& columns,
                   char delimiter, bool header)
    : to_(std::move(to)),
      lines_(*to_, delimiter),
      delimiter_(delimiter),
      ignores_other_features_(!columns.empty()),
      header_due_(header) {
  name_columns(columns);
}

void csv_sink::name_columns(const std::vector<csv_field>& columns) {
  if (!columns_.empty()) return;
  for (const csv_field& c : columns) columns_.push_back({c.name, c.type});
}

void csv_sink::start_file(std::string source) {
  source_ = std::move(source);
  records_ = 0;
}

leat::task<> csv_sink::write(leat::byte_view record) {
  std::string line = csv_line(make_row(decode(record)), 0, delimiter_);
  co_await write_header();
  co_await lines_.write(std::move(line));
  ++records_;
}

leat::task<> csv_sink::close() {
  co_await write_header();  // of a table without rows
  co_await to_->close();
}

leat::decoded_example csv_sink::decode(leat::byte_view record) const {
  try {
    return decode_example(leat::as_text(record));
  } catch (const leat::decode_error& e) {
    throw e.at(fmt::format("{}, record {}", source_, records_));
  }
}

leat::planned_batch csv_sink::make_row(const leat::decoded_example& example) {
  if (example.is_sequence) {
    throw_record_error("is a tf.train.SequenceExample: csv cannot store feature lists");
  }
  if (columns_.empty()) {
    for (const auto& [name, v] : example.features) columns_.push_back({name, std::nullopt});
  }
  if (columns_.empty()) throw_record_error("has no features: csv needs at least one");
  std::vector<leat::planned_batch::column> row;
  for (column& c : columns_) {
    const auto found = example.features.find(c.name);
    if (found == example.features.end()) {
      std::vector<std::string> names;
      for (const auto& [name, v] : example.features) names.push_back(name);
      throw_record_error(
          fmt::format("has no feature '{}', {}", escape_text(c.name),
                      names.empty() ? "and no other feature" : "only " + quoted_names(names)));
    }
    row.push_back({c.name, to_value(c, found->second)});
  }
  const bool is_complete = ignores_other_features_ || example.features.size() == columns_.size();
  for (const auto& [name, v] : example.features) {
    if (is_complete) break;
    const auto same = [&](const column& c) { return c.name == name; };
    if (std::any_of(columns_.begin(), columns_.end(), same)) continue;
    throw_record_error(fmt::format(
        "has a feature '{}', which the first record lacks: set --columns to choose the features",
        escape_text(name)));
  }
  return {1, std::move(row)};
}

// An empty text is written as an empty field, so a missing text must be rejected.
leat::tensor csv_sink::to_value(column& c, const values& v) const {
  const std::size_t count = v ? v->count() : 0;
  if (count > 1) {
    throw_record_error(
        fmt::format("has {} values of feature '{}': csv stores one", count, escape_text(c.name)));
  }
  if (v && !c.type) c.type = v->type();
  c.was_empty = c.was_empty || count == 0;
  if (c.was_empty && c.type == dtype::string) {
    throw_record_error(fmt::format(
        "{} feature '{}': csv cannot distinguish this from an empty text",
        count == 0 ? "has no value of" : "has a text, but an earlier record no value, of",
        escape_text(c.name)));
  }
  if (v && v->type() != c.type) {
    throw_record_error(fmt::format("has feature '{}' of type {}, but the column has type {}",
                                   escape_text(c.name), kind_of(v), kind_of(*c.type)));
  }
  return count == 0 ? empty_text() : *v;
}

void csv_sink::throw_record_error(const std::string& why) const {
  throw leat::failure(leat::errc::failed_precondition,
                      fmt::format("{}, record {} {}", source_, records_, why));
}

leat::task<> csv_sink::write_header() {
  if (!std::exchange(header_due_, false) || columns_.empty()) co_return;
  std::vector<leat::planned_column> facts(columns_.size());
  for (std::size_t i = 0; i < facts.size(); ++i) facts[i].name = columns_[i].name;
  co_await lines_.write(csv_header(facts, delimiter_));
}

}  // namespace tool
