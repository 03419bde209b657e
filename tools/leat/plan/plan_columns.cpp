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

#include "plan/pipeline_plan.hpp"
#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

using form = column_info::form;
using leat::dtype;
using columns = std::vector<column_output::column>;
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

leat::csv_column read_csv_column(toml_table& s, std::vector<column_info>& facts) {
  leat::csv_column column;
  column.name = column_name(s, "column");
  const dtype type = read_dtype(s, csv_types);
  const auto value = read_default(s, type, {});
  column.default_value = value ? *value : leat::tensor(type, {0});
  s.reject_unknown_keys();
  facts.push_back({column.name, type, form::scalar, std::string(leat::to_string(type))});
  return column;
}

columns named_columns(leat::tensor_tuple from) {
  const std::vector<std::string> names(from.names().begin(), from.names().end());
  std::vector<leat::tensor> tensors = std::move(from).take();
  columns all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    all.push_back({names[i], std::move(tensors[i])});
  }
  return all;
}

// The location of the header.
struct header_location {
  bool in_files = false;
  std::optional<std::string> text;

  [[nodiscard]] bool is_known() const noexcept { return in_files || text; }
};

header_location read_header(toml_table& s) {
  header_location header;
  const toml_value* const v = s.find("header");
  if (!v) return header;
  if (const auto* const text = v->as<std::string>()) {
    header.text = *text;
  } else if (const bool* const in_files = v->as<bool>()) {
    header.in_files = *in_files;
  } else {
    s.add_value_error("header", *v, "true, false or the header line");
  }
  return header;
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

decoder_plan::function decode_with(leat::csv_decoder decoder) {
  return
      [shared = std::make_shared<leat::csv_decoder>(std::move(decoder))](
          std::span<const leat::byte_view> lines) { return named_columns(shared->decode(lines)); };
}

void read_csv(toml_table& s, decoder_plan& plan, std::string& text) {
  const std::size_t errors_before = s.error_count();
  const header_location header = read_header(s);
  leat::csv_options options = read_csv_options(s, header.is_known());
  plan.csv = options;
  static_cast<void>(s.require("columns", "a list of tables {name, dtype, default}"));
  std::vector<leat::csv_column> wanted;
  for (toml_table& column : s.tables("columns", "column")) {
    wanted.push_back(read_csv_column(column, plan.columns));
  }
  text = count_text(wanted.size(), "column") + (header.is_known() ? " by header" : "");
  if (s.error_count() > errors_before) return;  // the decoder would report them again
  if (header.text) {
    plan.decode = decode_with(
        leat::csv_decoder::for_header(*header.text, std::move(wanted), std::move(options)));
    return;
  }
  plan.decode = decode_with(leat::csv_decoder(wanted, options));  // throws for errors
  if (!header.in_files) return;
  plan.for_header = [wanted, options](std::string_view line) {
    return decode_with(leat::csv_decoder::for_header(line, wanted, options));
  };
}

// ---- Examples

// The suffix of a column that contains the number of steps.
constexpr std::string_view length_suffix = ".length";

using feature_reader = leat::feature (*)(toml_table& s, column_info& facts);
using feature_readers = std::map<std::string, feature_reader, std::less<>>;

void set_info(column_info& facts, dtype type, form shape, std::string text) {
  facts.type = type;
  facts.shape = shape;
  facts.text = fmt::format("{} {}", leat::to_string(type), text);
}

leat::feature read_fixed_len(toml_table& s, column_info& facts) {
  leat::fixed_len_feature f;
  f.type = read_dtype(s, feature_types);
  const leat::shape shape = read_shape(s, "shape");
  f.shape = shape;
  f.default_value = read_default(s, f.type, shape);
  set_info(facts, f.type, shape.rank() == 0 ? form::scalar : form::dense,
           leat::to_string(f.shape.batch_of(leat::unknown_dimension)));
  return f;
}

leat::feature read_var_len(toml_table& s, column_info& facts) {
  leat::var_len_feature f;
  f.type = read_dtype(s, feature_types);
  set_info(facts, f.type, form::list, "sparse [?,?]");
  return f;
}

leat::feature read_sparse(toml_table& s, column_info& facts) {
  leat::sparse_feature f;
  f.type = read_dtype(s, feature_types);
  if (s.require("index_keys", "the features with the indices")) {
    s.read("index_keys", f.index_keys);
  }
  if (s.require("value_key", "the feature with the values")) s.read("value_key", f.value_key);
  if (s.require("size", "the dimensions of one record")) s.read("size", f.size);
  s.read("already_sorted", f.already_sorted);
  set_info(facts, f.type, form::other, fmt::format("sparse, {} dimensions", f.size.size() + 1));
  return f;
}

leat::feature read_sequence(toml_table& s, column_info& facts) {
  leat::fixed_len_sequence_feature f;
  f.type = read_dtype(s, feature_types);
  f.shape = read_shape(s, "shape");
  f.allow_missing = true;  // a sequence without steps is written this way
  s.read("allow_missing", f.allow_missing);
  f.default_value = read_default(s, f.type, {});
  set_info(facts, f.type, form::other,
           leat::to_string(f.shape.batch_of(leat::unknown_dimension).batch_of(-1)));
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

leat::feature read_ragged(toml_table& s, column_info& facts) {
  leat::ragged_feature f;
  f.type = read_dtype(s, feature_types);
  if (s.has("value_key")) s.read("value_key", f.value_key.emplace());
  static_cast<void>(s.find("value_key"));
  for (toml_table& p : s.tables("partitions", "partition"))
    f.partitions.push_back(read_partition(p));
  s.choose("row_splits_type", f.row_splits_type, split_types);
  set_info(facts, f.type, form::other, "ragged");
  return f;
}

const feature_readers record_feature_readers{{"fixed_len", read_fixed_len},
                                             {"var_len", read_var_len},
                                             {"sparse", read_sparse},
                                             {"fixed_len_sequence", read_sequence},
                                             {"ragged", read_ragged}};

leat::feature read_lists(toml_table& s, column_info& facts) {
  leat::feature f = read_var_len(s, facts);
  set_info(facts, facts.type, form::other, "sparse [?,?,?]");
  return f;
}

const feature_readers step_feature_readers{{"fixed_len_sequence", read_sequence},
                                           {"var_len", read_lists}};

// A feature without a kind has the kind `default_kind`.
void read_feature(toml_table& s, const feature_readers& kinds, std::string_view default_kind,
                  std::string_view what, leat::feature_map& to, std::vector<column_info>& facts) {
  column_info column;
  column.name = column_name(s, what);
  feature_reader read = kinds.find(default_kind)->second;
  s.choose("kind", read, kinds);
  leat::feature f = read(s, column);
  s.reject_unknown_keys();
  if (!to.emplace(column.name, std::move(f)).second) s.add_error("name", "this name occurs twice");
  facts.push_back(std::move(column));
}

// Returns the columns in the order of the declaration.
columns take_columns(const leat::parsed_features& parsed, const std::vector<column_info>& wanted) {
  columns all;
  for (const column_info& c : wanted) all.push_back({c.name, parsed.values().find(c.name)->second});
  return all;
}

void read_example(toml_table& s, decoder_plan& plan, element_kind input, std::string& text) {
  const std::size_t errors_before = s.error_count();
  const std::map<std::string, bool, std::less<>> encodings{{"binary", false}, {"json", true}};
  bool is_json = false;
  s.choose("encoding", is_json, encodings);
  if (!is_json && (input == element_kind::lines || input == element_kind::line_batches)) {
    s.add_error(
        "lines cannot contain serialized Examples: set encoding = \"json\", or choose another "
        "source format");
  }
  static_cast<void>(s.require("features", "a list of tables {name, dtype, shape, default}"));
  leat::feature_map features;
  for (toml_table& f : s.tables("features", "feature")) {
    read_feature(f, record_feature_readers, "fixed_len", "feature", features, plan.columns);
  }
  text = count_text(features.size(), "feature");
  if (s.error_count() > errors_before) return;  // the parser would report them again
  const auto parser = std::make_shared<leat::example_parser>(std::move(features));
  plan.decode = [parser, is_json, wanted = plan.columns](std::span<const leat::byte_view> records) {
    if (!is_json) return take_columns(parser->parse(records), wanted);
    std::vector<std::string_view> texts;
    for (const leat::byte_view record : records) texts.push_back(leat::as_text(record));
    const leat::tensor messages = leat::decode_json_example(leat::tensor::of(
        {static_cast<std::int64_t>(texts.size())}, std::span<const std::string_view>(texts)));
    std::vector<leat::byte_view> serialized;
    for (const std::string_view message : messages.strings()) {
      serialized.push_back(leat::as_bytes(message));
    }
    return take_columns(parser->parse(serialized), wanted);
  };
}

// The numbers of steps are additional columns: "NAME.length".
void read_sequence_example(toml_table& s, decoder_plan& plan, element_kind input,
                           std::string& text) {
  const std::size_t errors_before = s.error_count();
  if (input == element_kind::lines || input == element_kind::line_batches) {
    s.add_error("lines cannot contain serialized SequenceExamples: choose another source format");
  }
  leat::feature_map context;
  leat::feature_map steps;
  std::vector<column_info> context_columns;
  std::vector<column_info> step_columns;
  std::vector<column_info> lengths;
  for (toml_table& f : s.tables("context", "context feature")) {
    read_feature(f, record_feature_readers, "fixed_len", "context feature", context,
                 context_columns);
  }
  for (toml_table& f : s.tables("sequences", "sequence")) {
    read_feature(f, step_feature_readers, "fixed_len_sequence", "sequence", steps, step_columns);
  }
  for (const auto& [name, f] : steps) {
    if (context.contains(name)) {
      s.add_error("sequences", fmt::format("'{}' is also a name in context", name));
    }
  }
  if (!s.has("context") && !s.has("sequences")) {
    s.add_error("give context or sequences: lists of tables {name, dtype, shape, default}");
  }
  for (const column_info& c : step_columns) {
    if (!std::holds_alternative<leat::fixed_len_sequence_feature>(steps.find(c.name)->second))
      continue;
    lengths.push_back({c.name, dtype::int64, form::scalar, "int64 [?]"});
  }
  for (const auto* all : {&context_columns, &step_columns}) {
    plan.columns.insert(plan.columns.end(), all->begin(), all->end());
  }
  for (const column_info& c : lengths) {
    plan.columns.push_back(c);
    plan.columns.back().name += length_suffix;
  }
  text =
      count_text(context.size(), "context feature") + ", " + count_text(steps.size(), "sequence");
  if (s.error_count() > errors_before) return;  // the parser would report them again
  const auto parser =
      std::make_shared<leat::sequence_example_parser>(std::move(context), std::move(steps));
  plan.decode = [parser, context_columns, step_columns,
                 lengths](std::span<const leat::byte_view> records) {
    const leat::parsed_sequences parsed = parser->parse(records);
    columns all = take_columns(parsed.context, context_columns);
    for (auto& c : take_columns(parsed.sequences, step_columns)) all.push_back(std::move(c));
    for (auto& c : take_columns(parsed.lengths, lengths)) {
      c.name += length_suffix;
      all.push_back(std::move(c));
    }
    return all;
  };
}

// ---- Raw

void read_raw(toml_table& s, decoder_plan& plan, std::string& text) {
  const std::map<std::string, std::endian, std::less<>> orders{{"little", std::endian::little},
                                                               {"big", std::endian::big}};
  leat::raw_options options;
  const dtype type = read_dtype(s, raw_types);
  s.choose("byte_order", options.order, orders);
  if (s.has("fixed_length")) s.read_size("fixed_length", options.fixed_length.emplace(0));
  static_cast<void>(s.find("fixed_length"));
  if (options.fixed_length && *options.fixed_length % leat::size_of(type) != 0) {
    s.add_error("fixed_length", fmt::format("give a multiple of {}, the bytes of one {}",
                                            leat::size_of(type), leat::to_string(type)));
  }
  std::string column = "values";
  s.read("column", column);
  plan.columns.push_back(
      {column, type, form::dense, fmt::format("{} [?,?]", leat::to_string(type))});
  text = std::string(leat::to_string(type));
  plan.decode = [column, type, options](std::span<const leat::byte_view> records) {
    columns all;
    all.push_back({column, leat::decode_raw(records, type, options)});
    return all;
  };
}

}  // namespace

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

decoder_plan read_decoder(toml_table& s, const std::string& kind, element_kind input,
                          std::string& text) {
  decoder_plan plan;
  plan.name = kind;
  s.read("name", plan.name);
  s.read("workers", plan.workers, 0, 1024);
  try {
    if (kind == "parse_csv") {
      read_csv(s, plan, text);
    } else if (kind == "parse_example") {
      read_example(s, plan, input, text);
    } else if (kind == "parse_sequence_example") {
      read_sequence_example(s, plan, input, text);
    } else {
      read_raw(s, plan, text);
    }
  } catch (const leat::failure& e) {
    s.add_error(message_of(e));  // an error of the decoder
  }
  if (plan.workers > 0) text += ", " + count_text(plan.workers, "worker");
  return plan;
}

}  // namespace tool
