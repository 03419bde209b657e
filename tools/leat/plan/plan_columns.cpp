// Reads the stages that convert records to columns.

#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/codec/csv/csv_decoder.hpp>
#include <leat/codec/decode_raw.hpp>
#include <leat/codec/example/decode_json_example.hpp>
#include <leat/codec/example/example_parser.hpp>
#include <leat/codec/example/sequence_example_parser.hpp>

#include "plan/declared_plan.hpp"
#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

using leat::dtype;
using dtype_choices = std::map<std::string, dtype, std::less<>>;

// Returns a map from names to types.
dtype_choices make_dtype_choices(std::initializer_list<dtype> types) {
  dtype_choices all;
  for (const dtype type : types) all.emplace(leat::to_string(type), type);
  return all;
}

const dtype_choices csv_types =
    make_dtype_choices({dtype::int32, dtype::int64, dtype::float32, dtype::float64, dtype::string});
const dtype_choices feature_types =
    make_dtype_choices({dtype::float32, dtype::int64, dtype::string});
const dtype_choices raw_types = make_dtype_choices(
    {dtype::boolean, dtype::uint8, dtype::int8, dtype::uint16, dtype::int16, dtype::uint32,
     dtype::int32, dtype::uint64, dtype::int64, dtype::float32, dtype::float64});
const dtype_choices split_types = make_dtype_choices({dtype::int32, dtype::int64});

// Reads the dtype of a column, which is required.
dtype read_dtype(toml_table& s, const dtype_choices& types) {
  const std::string* const name = s.choose_name("dtype", types);
  return name ? types.find(*name)->second : types.begin()->second;
}

template <class Number>
void append_numbers(const toml_value& v, std::vector<Number>& to, bool& wrong) {
  if (const auto* const list = v.as<toml_value::list>()) {
    for (const toml_value& element : *list) append_numbers(element, to, wrong);
    return;
  }
  const std::int64_t* const n = v.as<std::int64_t>();
  const double* const x = v.as<double>();
  if constexpr (std::is_floating_point_v<Number>) {
    wrong = wrong || (!n && !x);
    to.push_back(n ? static_cast<Number>(*n) : static_cast<Number>(x ? *x : 0));
  } else {
    wrong = wrong || !n || *n < std::numeric_limits<Number>::min() ||
            *n > std::numeric_limits<Number>::max();
    to.push_back(n ? static_cast<Number>(*n) : 0);
  }
}

void append_texts(const toml_value& v, std::vector<std::string>& to, bool& wrong) {
  if (const auto* const list = v.as<toml_value::list>()) {
    for (const toml_value& element : *list) append_texts(element, to, wrong);
    return;
  }
  const std::string* const text = v.as<std::string>();
  wrong = wrong || !text;
  to.push_back(text ? *text : std::string());
}

// Reads the value or values of "default" to a tensor of the given shape.
std::optional<leat::tensor> read_default(toml_table& s, dtype type, const leat::shape& shape) {
  const toml_value* const v = s.find("default");
  if (!v) return std::nullopt;
  bool wrong = false;
  std::optional<leat::tensor> made;
  const auto make = [&](const auto& values) {
    wrong = wrong || values.size() != shape.count();
    if (!wrong) made = leat::tensor::of(shape, std::span(values));
  };
  const auto make_numbers = [&]<class Number>(Number) {
    std::vector<Number> values;
    append_numbers(*v, values, wrong);
    make(values);
  };
  switch (type) {
    case dtype::int32: make_numbers(std::int32_t()); break;
    case dtype::int64: make_numbers(std::int64_t()); break;
    case dtype::float32: make_numbers(float()); break;
    case dtype::float64: make_numbers(double()); break;
    default: {
      std::vector<std::string> values;
      append_texts(*v, values, wrong);
      make(values);
    }
  }
  if (wrong) {
    s.add_error("default", fmt::format("give {} of type {}", count_text(shape.count(), "value"),
                                       leat::to_string(type)));
  }
  return made;
}

// Reads a shape without unknown dimensions.
leat::shape read_shape(toml_table& s, std::string_view key) {
  std::vector<std::int64_t> sizes;
  s.read(key, sizes);
  try {
    return leat::shape(std::span<const std::int64_t>(sizes));
  } catch (const leat::failure& e) {
    s.add_error(key, message_of(e));
    return {};
  }
}

// Reads the name of a column, and adds it to the title for messages.
std::string column_name(toml_table& s, std::string_view what) {
  std::string name;
  if (s.require("name", "the name of the " + std::string(what))) s.read("name", name);
  if (!name.empty()) s.rename(s.title() + " '" + escape_text(name) + "'");
  return name;
}

// ---- CSV

leat::csv_column read_csv_column(toml_table& s) {
  leat::csv_column column;
  column.name = column_name(s, "column");
  const dtype type = read_dtype(s, csv_types);
  const auto value = read_default(s, type, {});
  column.default_value = value ? *value : leat::tensor(type, {0});
  s.reject_unknown_keys();
  return column;
}

// The header is a text, or in the files.
void read_header(toml_table& s, leat::csv_stage_options& to) {
  const toml_value* const v = s.find("header");
  if (!v) return;
  if (const auto* const text = v->as<std::string>()) {
    to.header = *text;
  } else if (const bool* const in_files = v->as<bool>()) {
    to.has_header_in_files = *in_files;
  } else {
    s.add_value_error("header", *v, "true, false or the header line");
  }
}

leat::csv_options read_csv_options(toml_table& s, bool has_header) {
  leat::csv_options options;
  read_delimiter(s, options.delimiter);
  s.read("quotes", options.quotes);
  s.read("na_value", options.na_value);
  if (has_header && s.has("select"))
    s.add_error("select", "not allowed with header, which selects the fields by their names");
  std::vector<std::int64_t> select;
  s.read("select", select);
  for (const std::int64_t field : select) {
    if (field < 0) s.add_error("select", "give field numbers of 0 or more");
    options.select.push_back(static_cast<std::size_t>(field));
  }
  return options;
}

// ---- Examples

using feature_reader = leat::feature (*)(toml_table& s);
using feature_readers = std::map<std::string, feature_reader, std::less<>>;

leat::feature read_fixed_len(toml_table& s) {
  leat::fixed_len_feature f;
  f.type = read_dtype(s, feature_types);
  const leat::shape shape = read_shape(s, "shape");
  f.shape = shape;
  f.default_value = read_default(s, f.type, shape);
  return f;
}

leat::feature read_var_len(toml_table& s) {
  leat::var_len_feature f;
  f.type = read_dtype(s, feature_types);
  return f;
}

leat::feature read_sparse(toml_table& s) {
  leat::sparse_feature f;
  f.type = read_dtype(s, feature_types);
  if (s.require("index_keys", "the features with the indices")) {
    s.read("index_keys", f.index_keys);
  }
  if (s.require("value_key", "the feature with the values")) s.read("value_key", f.value_key);
  if (s.require("size", "the dimensions of one record")) s.read("size", f.size);
  s.read("already_sorted", f.already_sorted);
  return f;
}

leat::feature read_sequence(toml_table& s) {
  leat::fixed_len_sequence_feature f;
  f.type = read_dtype(s, feature_types);
  f.shape = read_shape(s, "shape");
  f.allow_missing = true;  // a sequence without steps is written this way
  s.read("allow_missing", f.allow_missing);
  f.default_value = read_default(s, f.type, {});
  return f;
}

leat::ragged_partition read_partition(toml_table& s) {
  using kind = leat::ragged_partition::kind;
  static const std::map<std::string, kind, std::less<>> kinds{
      {"row_splits", kind::row_splits},       {"row_lengths", kind::row_lengths},
      {"row_starts", kind::row_starts},       {"row_limits", kind::row_limits},
      {"value_row_ids", kind::value_row_ids}, {"uniform_row_length", kind::uniform_row_length}};
  leat::ragged_partition p;
  if (const std::string* const name = s.choose_name("kind", kinds))
    p.how = kinds.find(*name)->second;
  if (p.how == kind::uniform_row_length) {
    if (s.require("length", "the length of a row")) s.read("length", p.length, 1);
  } else if (s.require("key", "the feature with the numbers")) {
    s.read("key", p.key);
  }
  s.reject_unknown_keys();
  return p;
}

leat::feature read_ragged(toml_table& s) {
  leat::ragged_feature f;
  f.type = read_dtype(s, feature_types);
  if (s.has("value_key")) s.read("value_key", f.value_key.emplace());
  static_cast<void>(s.find("value_key"));
  for (toml_table& p : s.tables("partitions", "partition"))
    f.partitions.push_back(read_partition(p));
  s.choose("row_splits_type", f.row_splits_type, split_types);
  return f;
}

const feature_readers record_feature_readers{{"fixed_len", read_fixed_len},
                                             {"var_len", read_var_len},
                                             {"sparse", read_sparse},
                                             {"fixed_len_sequence", read_sequence},
                                             {"ragged", read_ragged}};

const feature_readers step_feature_readers{{"fixed_len_sequence", read_sequence},
                                           {"var_len", read_var_len}};

// A feature without a kind has the kind `default_kind`.
void read_features(toml_table& s, std::string_view key, const feature_readers& kinds,
                   std::string_view default_kind, std::string_view what,
                   std::vector<leat::named_feature>& to) {
  for (toml_table& f : s.tables(key, what)) {
    std::string name = column_name(f, what);
    feature_reader read = kinds.find(default_kind)->second;
    f.choose("kind", read, kinds);
    to.push_back({std::move(name), read(f)});
    f.reject_unknown_keys();
  }
}

}  // namespace

void read_decoder(toml_table& s, leat::csv_stage_options& to) {
  read_header(s, to);
  to.csv = read_csv_options(s, to.header || to.has_header_in_files);
  static_cast<void>(s.require("columns", "a list of tables {name, dtype, default}"));
  for (toml_table& column : s.tables("columns", "column")) {
    to.columns.push_back(read_csv_column(column));
  }
}

void read_decoder(toml_table& s, leat::example_stage_options& to) {
  const std::map<std::string, bool, std::less<>> encodings{{"binary", false}, {"json", true}};
  s.choose("encoding", to.is_json, encodings);
  static_cast<void>(s.require("features", "a list of tables {name, dtype, shape, default}"));
  read_features(s, "features", record_feature_readers, "fixed_len", "feature", to.features);
}

void read_decoder(toml_table& s, leat::sequence_example_stage_options& to) {
  read_features(s, "context", record_feature_readers, "fixed_len", "context feature", to.context);
  read_features(s, "sequences", step_feature_readers, "fixed_len_sequence", "sequence",
                to.sequences);
  if (!s.has("context") && !s.has("sequences")) {
    s.add_error("give context or sequences: lists of tables {name, dtype, shape, default}");
  }
}

void read_decoder(toml_table& s, leat::raw_stage_options& to) {
  const std::map<std::string, std::endian, std::less<>> orders{{"little", std::endian::little},
                                                               {"big", std::endian::big}};
  to.type = read_dtype(s, raw_types);
  s.choose("byte_order", to.raw.order, orders);
  if (s.has("fixed_length")) s.read_size("fixed_length", to.raw.fixed_length.emplace(0));
  static_cast<void>(s.find("fixed_length"));
  s.read("column", to.column);
}

void read_delimiter(toml_table& s, char& to) {
  std::string text(1, to);
  s.read("delimiter", text);
  if (text.size() == 1 && std::string_view("\"\r\n").find(text) == std::string_view::npos) {
    to = text.front();
  } else {
    s.add_error("delimiter",
                "give one character, such as \";\" or \"\\t\", but no quote or line end");
  }
}

}  // namespace tool
