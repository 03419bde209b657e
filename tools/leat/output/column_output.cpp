#include "output/column_output.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include <leat/base/bytes.hpp>
#include <leat/base/error.hpp>
#include <leat/codec/compression/compression.hpp>
#include <leat/codec/example/example_builder.hpp>

#include "input/json_values.hpp"

namespace tool {
namespace {

using leat::dtype;
using leat::tensor;

// Calls use(range) with the values of a tensor, for any type.
template <class Use>
auto visit_values(const tensor& t, Use use) {
  switch (t.type()) {
    case dtype::boolean: return use(t.values<bool>());
    case dtype::uint8: return use(t.values<std::uint8_t>());
    case dtype::int8: return use(t.values<std::int8_t>());
    case dtype::uint16: return use(t.values<std::uint16_t>());
    case dtype::int16: return use(t.values<std::int16_t>());
    case dtype::uint32: return use(t.values<std::uint32_t>());
    case dtype::int32: return use(t.values<std::int32_t>());
    case dtype::uint64: return use(t.values<std::uint64_t>());
    case dtype::int64: return use(t.values<std::int64_t>());
    case dtype::float32: return use(t.values<float>());
    case dtype::float64: return use(t.values<double>());
    case dtype::string: return use(t.strings());
    default: break;
  }
  throw leat::failure(leat::errc::unimplemented,
                      fmt::format("values of type {} cannot be shown", leat::to_string(t.type())));
}

// Nests the values from dimension `d` on, starting with value `next`.
template <class Values>
json nested(const Values& all, const leat::shape& shape, std::size_t d, std::size_t& next) {
  if (d == shape.rank()) return value_json(all[next++]);
  json list = json::array();
  for (std::int64_t i = 0; i < shape[d]; ++i) list.push_back(nested(all, shape, d + 1, next));
  return list;
}

json values_json(const tensor& t) {
  return visit_values(t, [&t](const auto& all) {
    std::size_t next = 0;
    return nested(all, t.shape(), 0, next);
  });
}

json column_json(const tensor& t) {
  return {{"dtype", leat::to_string(t.type())},
          {"shape", t.shape().dimensions()},
          {"values", values_json(t)}};
}

json column_json(const leat::sparse_tensor& t) {
  return {{"dtype", leat::to_string(t.values.type())},
          {"dense_shape", values_json(t.dense_shape)},
          {"indices", values_json(t.indices)},
          {"values", values_json(t.values)}};
}

json column_json(const leat::ragged_tensor& t) {
  json splits = json::array();
  for (const tensor& level : t.row_splits) splits.push_back(values_json(level));
  return {{"dtype", leat::to_string(t.values.type())},
          {"row_splits", std::move(splits)},
          {"values", values_json(t.values)}};
}

constexpr const char* empty_line = "\"\"";  // readers would skip a blank line

// Returns true if the first line of a file makes readers decompress or decode the file. A field in
// quotes does not.
bool is_misread(const std::string& line) {
  if (line.starts_with("\xEF\xBB\xBF")) return true;                              // UTF-8
  if (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")) return true;  // UTF-16
  const std::string bytes = line + '\n';
  if (bytes.size() < 3) return false;  // too short for any header
  const leat::byte_view beginning = leat::as_bytes(bytes);
  return leat::detect_compression(beginning) != leat::compression::none ||
         leat::needs_larger_sample(beginning);  // the next lines decide
}

std::string quote_if_needed(std::string_view field, char delimiter) {
  const char special[] = {delimiter, '"', '\r', '\n'};
  if (field.find_first_of(std::string_view(special, sizeof special)) == std::string_view::npos) {
    return std::string(field);
  }
  std::string quoted = "\"";
  for (const char c : field) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// The values of a record in a column.
struct value_range {
  const tensor& values;
  std::size_t first;
  std::size_t count;
};

value_range find_values(const tensor& t, std::size_t record, std::size_t records) {
  const std::size_t each = t.count() / records;
  return {t, record * each, each};
}

// Indices rise: (record, position).
value_range find_values(const leat::sparse_tensor& t, std::size_t record, std::size_t) {
  const auto indices = t.indices.values<std::int64_t>();
  const auto rank = static_cast<std::size_t>(t.indices.shape()[1]);
  const auto first_of = [&](std::size_t wanted) {
    std::size_t low = 0;
    for (std::size_t high = t.values.count(); low < high;) {
      const std::size_t middle = low + (high - low) / 2;
      if (indices[middle * rank] < static_cast<std::int64_t>(wanted)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const std::size_t first = first_of(record);
  return {t.values, first, first_of(record + 1) - first};
}

[[noreturn]] value_range find_values(const leat::ragged_tensor&, std::size_t, std::size_t) {
  throw leat::failure(leat::errc::unimplemented, "a ragged column has no form as a feature");
}

void add_feature(leat::example_builder& to, const std::string& name, const value_range& r) {
  if (r.values.type() == dtype::float32) {
    to.add(name, r.values.values<float>().subspan(r.first, r.count));
  } else if (r.values.type() == dtype::int64) {
    to.add(name, r.values.values<std::int64_t>().subspan(r.first, r.count));
  } else if (r.values.type() == dtype::int32) {
    const auto part = r.values.values<std::int32_t>().subspan(r.first, r.count);
    to.add(name, std::vector<std::int64_t>(part.begin(), part.end()));
  } else {
    const auto all = r.values.strings();
    std::vector<std::string_view> part;
    for (std::size_t i = r.first; i < r.first + r.count; ++i) part.push_back(all[i]);
    to.add(name, part);
  }
}

}  // namespace

json to_json(const leat::planned_batch& batch) {
  json columns = json::object();
  for (const auto& [name, value] : batch.columns()) {
    add_member(columns, name, std::visit([](const auto& v) { return column_json(v); }, value));
  }
  return columns;
}

std::string csv_header(const std::vector<leat::planned_column>& columns, char delimiter) {
  std::string line;
  for (const leat::planned_column& c : columns) {
    if (&c != &columns.front()) line += delimiter;
    line += quote_if_needed(c.name, delimiter);
  }
  if (line.empty()) return empty_line;
  return line;
}

std::string csv_line(const leat::planned_batch& batch, std::size_t record, char delimiter) {
  std::string line;
  for (const leat::planned_batch::column& c : batch.columns()) {
    if (&c != &batch.columns().front()) line += delimiter;
    line += visit_values(std::get<tensor>(c.value), [&](const auto& all) {
      return quote_if_needed(fmt::format("{}", all[record]), delimiter);
    });
  }
  if (line.empty()) return empty_line;
  return line;
}

// A quote begins neither compressed data nor a byte order mark.
std::string csv_first_line(std::string line, char delimiter) {
  if (!is_misread(line)) return line;
  line.insert(std::min(line.find(delimiter), line.size()), 1, '"');
  return '"' + line;
}

std::string make_example(const leat::planned_batch& batch, std::size_t record) {
  leat::example_builder example;
  for (const auto& [name, value] : batch.columns()) {
    const value_range r = std::visit(
        [&](const auto& v) -> value_range { return find_values(v, record, batch.size()); }, value);
    add_feature(example, name, r);
  }
  return example.serialize();
}

bool can_be_feature(dtype type) noexcept {
  return type == dtype::float32 || type == dtype::int32 || type == dtype::int64 ||
         type == dtype::string;
}

}  // namespace tool
