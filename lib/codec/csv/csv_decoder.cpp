#include "leat/codec/csv/csv_decoder.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "codec/csv/csv_block.hpp"
#include "codec/csv/csv_splitter.hpp"
#include "codec/csv/csv_values.hpp"
#include "codec/csv/internal/csv_text.hpp"
#include "codec/excerpt.hpp"
#include "codec/record_count_context.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace {

using detail::parsed;

constexpr std::size_t every_field = std::numeric_limits<std::size_t>::max();

[[noreturn]] void throw_csv_error(const std::string& why) {
  throw failure(errc::invalid_argument, "csv_decoder: " + why);
}

bool can_be_decoded(dtype type) noexcept {
  return type == dtype::int32 || type == dtype::int64 || type == dtype::float32 ||
         type == dtype::float64 || type == dtype::string;
}

void check_column(const csv_column& column, std::size_t index) {
  const tensor& value = column.default_value;
  const std::string which = "column " + std::to_string(index);
  if (!can_be_decoded(value.type())) {
    throw_csv_error(which + " has type " + std::string(to_string(value.type())) +
                    ", must have int32, int64, float32, float64 or string");
  }
  if (value.shape().rank() > 1 || value.count() > 1) {
    throw_csv_error(which + " has a default_value of shape " + to_string(value.shape()) +
                    ": use a scalar, or an empty vector for a required field");
  }
}

void check_delimiter(const csv_options& o) {
  if (!detail::is_csv_delimiter(o.delimiter))
    throw_csv_error("csv_options::delimiter must not be a quote or a line end");
}

void check_options(const csv_options& o, std::size_t columns) {
  check_delimiter(o);
  if (o.select.empty()) return;
  if (o.select.size() != columns) {
    throw_csv_error("csv_options::select has " + std::to_string(o.select.size()) + " fields for " +
                    std::to_string(columns) + " columns");
  }
  if (!std::ranges::is_sorted(o.select, std::less_equal<>()))
    throw_csv_error("csv_options::select must be in strictly ascending order");
}

element_spec make_spec(const std::vector<csv_column>& columns) {
  if (columns.empty()) throw_csv_error("no columns: pass one or more");
  std::vector<component_spec> components;
  for (const csv_column& c : columns) {
    check_column(c, components.size());
    components.push_back({.type = c.default_value.type(), .shape = {}, .name = c.name});
  }
  return element_spec(std::move(components));
}

std::string_view without_mark_and_line_end(std::string_view header) noexcept {
  header = detail::without_utf8_mark(header);
  if (header.ends_with('\n')) header.remove_suffix(1);
  if (header.ends_with('\r')) header.remove_suffix(1);
  return header;
}

std::string join_names(std::span<const std::string_view> names) {
  constexpr std::size_t most = 20;
  std::string list;
  for (const std::string_view name : names.first(std::min(names.size(), most))) {
    list += (list.empty() ? "" : ", ") + detail::excerpt(name);
  }
  return names.size() > most ? list + ", ..." : list;
}

// The names live as long as the splitter and the header.
std::span<const std::string_view> split_header(detail::csv_splitter& splitter,
                                               std::string_view header) {
  if (detail::is_utf16(header)) throw_csv_error("header is UTF-16: convert the file to UTF-8");
  try {
    return splitter.split(without_mark_and_line_end(header), 0);
  } catch (const decode_error& e) {
    throw_csv_error("header cannot be split into names: " + std::string(e.what()));
  }
}

// Returns, for each column, the field of the header with its name.
std::vector<std::size_t> find_fields(std::string_view header,
                                     const std::vector<csv_column>& columns, const csv_options& o) {
  detail::csv_splitter splitter(o.delimiter, o.quotes, every_field);
  const std::span<const std::string_view> names = split_header(splitter, header);
  std::vector<std::size_t> fields;
  for (const csv_column& c : columns) {
    if (c.name.empty()) {
      throw_csv_error("column " + std::to_string(fields.size()) +
                      " has no name: for_header() needs a name for each column");
    }
    const auto found = std::ranges::find(names, std::string_view(c.name));
    if (found == names.end()) {
      throw_csv_error(
          "header has no field '" + c.name +
          "': " + (names.empty() ? "the header is empty" : "its fields are " + join_names(names)));
    }
    if (std::ranges::count(names, std::string_view(c.name)) > 1) {
      throw_csv_error("header has the field '" + c.name +
                      "' twice: select columns by index with csv_options::select");
    }
    fields.push_back(static_cast<std::size_t>(found - names.begin()));
  }
  return fields;
}

}  // namespace

struct csv_decoder::plan {
  plan(std::vector<csv_column> c, csv_options o)
      : spec(make_spec(c)), columns(std::move(c)), options(std::move(o)) {
    check_options(options, columns.size());
    if (!options.select.empty()) find_last();
  }

  /// Constructor for the fields of a header that have the names of the columns.
  plan(std::string_view header, std::vector<csv_column> c, csv_options o)
      : spec(make_spec(c)), columns(std::move(c)), options(std::move(o)) {
    if (!options.select.empty())
      throw_csv_error(
          "csv_options::select must be empty for for_header(), which finds columns by name");
    check_options(options, columns.size());
    options.select = find_fields(header, columns, options);
    find_last();
  }

  [[nodiscard]] std::size_t field_of(std::size_t column) const noexcept {
    return options.select.empty() ? column : options.select[column];
  }
  /// Returns true if records with this number of fields have all columns and no other field.
  [[nodiscard]] bool is_count(std::size_t fields) const noexcept {
    return options.select.empty() ? fields == columns.size() : fields > last_field;
  }
  void find_last() { last_field = *std::ranges::max_element(options.select); }

  element_spec spec;
  std::vector<csv_column> columns;
  csv_options options;
  std::size_t last_field = 0;  // the largest element of options.select
};

// Decodes the records of one call.
class csv_decoder::decode_call {
 public:
  decode_call(const plan& p, shape s)
      : plan_(p),
        shape_(std::move(s)),
        splitter_(p.options.delimiter, p.options.quotes,
                  p.options.select.empty() ? p.columns.size() + 1 : p.last_field + 1),
        block_(p.options.delimiter, p.options.quotes) {
    values_.reserve(p.columns.size());
    for (const csv_column& c : p.columns) {
      values_.emplace_back(c.default_value, p.options.na_value, shape_);
    }
  }

  void add_all(std::span<const std::string_view> records) {
    while (!records.empty()) {
      const std::size_t count = block_.take(records);
      if (!add_block()) {
        for (const std::string_view record : records.first(count)) add(record);
      }
      records = records.subspan(count);
    }
  }

  void add(std::string_view record) {
    const auto fields = splitter_.split(record, number_);
    check_count(record, fields.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string_view text = fields[plan_.field_of(i)];
      if (values_[i].is_missing(text)) {
        if (!values_[i].add_default())
          throw_field_error(record, i,
                            "required value is missing: set a default_value if it is optional");
      } else if (const parsed result = values_[i].add(text); result != parsed::ok) {
        throw_number_error(record, i, text, result);
      }
    }
    ++number_;
  }

  [[nodiscard]] tensor_tuple take() {
    std::vector<tensor> columns;
    columns.reserve(values_.size());
    for (detail::csv_values& v : values_) columns.push_back(v.take(shape_));
    return plan_.spec.make_tuple(std::move(columns));
  }

 private:
  // Decodes column by column. Returns false and adds nothing if the records have to be decoded one
  // by one, because they need csv_splitter or have an error.
  bool add_block() {
    if (!block_.is_plain() || !plan_.is_count(block_.fields())) return false;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i].add_all(block_, plan_.field_of(i))) continue;
      for (std::size_t before = 0; before < i; ++before) values_[before].drop_last(block_.count());
      return false;
    }
    number_ += block_.count();
    return true;
  }

  void check_count(std::string_view record, std::size_t found) const {
    if (plan_.is_count(found)) return;
    const std::vector<std::size_t>& select = plan_.options.select;
    std::size_t at = record.size();  // position of the missing field, or of the first excess field
    if (select.empty()) {
      // If there are too many fields, the splitter has found only one excess field.
      detail::csv_splitter all(plan_.options.delimiter, plan_.options.quotes, every_field);
      if (found > values_.size()) {
        found = all.split(record, number_).size();
        at = all.offset_of_field(record, values_.size());
      }
    } else {
      found = static_cast<std::size_t>(
          std::ranges::count_if(select, [found](std::size_t field) { return field < found; }));
    }
    throw decode_error(number_, ", byte " + std::to_string(at + 1) + ": number of fields is " +
                                    std::to_string(found) + ", must be " +
                                    std::to_string(values_.size()));
  }

  [[noreturn]] void throw_field_error(std::string_view record, std::size_t column,
                                      const std::string& why) const {
    const std::size_t field = plan_.field_of(column);
    std::string where = ", byte " + std::to_string(splitter_.offset_of_field(record, field) + 1) +
                        ", field " + std::to_string(field);
    const std::string& name = plan_.columns[column].name;
    if (!name.empty()) where += " ('" + name + "')";
    throw decode_error(number_, where + ": " + why);
  }

  [[noreturn]] void throw_number_error(std::string_view record, std::size_t column,
                                       std::string_view text, parsed result) const {
    const std::string type(to_string(values_[column].type()));
    const char* const why =
        result == parsed::out_of_range ? " is out of range for " : " is not a valid ";
    throw_field_error(record, column, detail::excerpt(text) + why + type);
  }

  const plan& plan_;
  shape shape_;
  detail::csv_splitter splitter_;
  detail::csv_block block_;
  std::vector<detail::csv_values> values_;
  std::size_t number_ = 0;  // of the current record
};

csv_decoder::csv_decoder(std::vector<csv_column> columns, csv_options options)
    : plan_(std::make_unique<const plan>(std::move(columns), std::move(options))) {}

csv_decoder::csv_decoder(std::unique_ptr<const plan> p) noexcept : plan_(std::move(p)) {}

csv_decoder csv_decoder::for_header(std::string_view header, std::vector<csv_column> columns,
                                    csv_options options) {
  return csv_decoder(std::make_unique<const plan>(header, std::move(columns), std::move(options)));
}

std::vector<std::string> csv_decoder::header_names(std::string_view header,
                                                   const csv_options& options) {
  check_delimiter(options);
  detail::csv_splitter splitter(options.delimiter, options.quotes, every_field);
  const std::span<const std::string_view> names = split_header(splitter, header);
  return {names.begin(), names.end()};
}

csv_decoder::csv_decoder(csv_decoder&&) noexcept = default;
csv_decoder& csv_decoder::operator=(csv_decoder&&) noexcept = default;
csv_decoder::~csv_decoder() = default;

tensor_tuple csv_decoder::decode(std::span<const std::string_view> records) const {
  decode_call r(*plan_, {static_cast<std::int64_t>(records.size())});
  detail::with_record_count(records.size(), [&] { r.add_all(records); });
  return r.take();
}

tensor_tuple csv_decoder::decode(std::span<const byte_view> records) const {
  std::vector<std::string_view> texts(records.size());
  std::ranges::transform(records, texts.begin(), as_text);
  return decode(texts);
}

tensor_tuple csv_decoder::decode(const tensor& records) const {
  const string_values strings = records.strings();
  const std::vector<std::string_view> texts(strings.begin(), strings.end());
  decode_call r(*plan_, records.shape());
  detail::with_record_count(texts.size(), [&] { r.add_all(texts); });
  return r.take();
}

tensor_tuple csv_decoder::decode_one(std::string_view record) const {
  decode_call r(*plan_, {});
  r.add(record);
  return r.take();
}

const element_spec& csv_decoder::spec() const noexcept { return plan_->spec; }

}  // namespace LEAT
