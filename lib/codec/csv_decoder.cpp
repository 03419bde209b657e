#include "leat/codec/csv_decoder.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "codec/csv_block.hpp"
#include "codec/csv_splitter.hpp"
#include "codec/csv_values.hpp"
#include "codec/excerpt.hpp"
#include "codec/of_call.hpp"
#include "leat/core/error.hpp"

namespace leat {
namespace {

using detail::parsed;

constexpr std::size_t every_field = std::numeric_limits<std::size_t>::max();

[[noreturn]] void refuse_csv(const std::string& why) {
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
    refuse_csv(which + " is of " + std::string(name(value.type())) +
               ": int32, int64, float32, float64 and string can be decoded");
  }
  if (value.shape().rank() > 1 || value.count() > 1) {
    refuse_csv(which + " has a default_value of shape " + to_string(value.shape()) +
               ": give a scalar, or a vector of none for a field that must be there");
  }
}

void check_options(const csv_options& o, std::size_t columns) {
  if (o.delimiter == '"' || o.delimiter == '\n' || o.delimiter == '\r') {
    refuse_csv("the delimiter cannot be a quote or a line end");
  }
  if (o.select.empty()) return;
  if (o.select.size() != columns) {
    refuse_csv("select names " + std::to_string(o.select.size()) + " fields for " +
               std::to_string(columns) + " columns");
  }
  if (!std::ranges::is_sorted(o.select, std::less_equal<>())) refuse_csv("select has to rise");
}

element_spec spec_of(const std::vector<csv_column>& columns) {
  if (columns.empty()) refuse_csv("no column");
  std::vector<component_spec> components;
  for (const csv_column& c : columns) {
    check_column(c, components.size());
    components.push_back({.type = c.default_value.type(), .shape = {}, .name = c.name});
  }
  return element_spec(std::move(components));
}

}  // namespace

struct csv_decoder::plan {
  plan(std::vector<csv_column> c, csv_options o)
      : spec(spec_of(c)), columns(std::move(c)), options(std::move(o)) {
    check_options(options, columns.size());
  }

  [[nodiscard]] std::size_t field_of(std::size_t column) const noexcept {
    return options.select.empty() ? column : options.select[column];
  }
  /// Whether records of so many fields have those of all columns, and no others.
  [[nodiscard]] bool is_count(std::size_t fields) const noexcept {
    return options.select.empty() ? fields == columns.size() : fields > options.select.back();
  }

  element_spec spec;
  std::vector<csv_column> columns;
  csv_options options;
};

// Decodes the records of one call.
class csv_decoder::run {
 public:
  run(const plan& p, shape s)
      : plan_(p),
        shape_(std::move(s)),
        splitter_(p.options.delimiter, p.options.quotes,
                  p.options.select.empty() ? p.columns.size() + 1 : p.options.select.back() + 1),
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
        if (!values_[i].add_default()) refuse_field(record, i, "required, and missing");
      } else if (const parsed result = values_[i].add(text); result != parsed::ok) {
        refuse_number(record, i, text, result);
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
  // Column by column. False, and nothing is added: they have to be looked at one by one, to be read
  // or to be told what is wrong.
  bool add_block() {
    if (!block_.plain() || !plan_.is_count(block_.fields())) return false;
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
    std::size_t at = record.size();  // where one is missing, or the first that is too many begins
    if (select.empty()) {
      // Of too many the splitter has found one too many only.
      detail::csv_splitter all(plan_.options.delimiter, plan_.options.quotes, every_field);
      if (found > values_.size()) {
        found = all.split(record, number_).size();
        at = all.place_of(record, values_.size());
      }
    } else {
      found = static_cast<std::size_t>(std::ranges::lower_bound(select, found) - select.begin());
    }
    throw decode_error(number_, ", column " + std::to_string(at + 1) +
                                    ": the number of fields is " + std::to_string(found) +
                                    ", must be " + std::to_string(values_.size()));
  }

  [[noreturn]] void refuse_field(std::string_view record, std::size_t column,
                                 const std::string& why) const {
    const std::size_t field = plan_.field_of(column);
    std::string place = ", column " + std::to_string(splitter_.place_of(record, field) + 1) +
                        ", field " + std::to_string(column);
    const std::string& name = plan_.columns[column].name;
    if (!name.empty()) place += " ('" + name + "')";
    throw decode_error(number_, place + ": " + why);
  }

  [[noreturn]] void refuse_number(std::string_view record, std::size_t column,
                                  std::string_view text, parsed result) const {
    const std::string type(name(values_[column].type()));
    const char* const why = result == parsed::out_of_range ? " is out of the range of " : " is no ";
    refuse_field(record, column, detail::excerpt(text) + why + type);
  }

  const plan& plan_;
  shape shape_;
  detail::csv_splitter splitter_;
  detail::csv_block block_;
  std::vector<detail::csv_values> values_;
  std::size_t number_ = 0;  // of the present record
};

csv_decoder::csv_decoder(std::vector<csv_column> columns, csv_options options)
    : plan_(std::make_unique<const plan>(std::move(columns), std::move(options))) {}

csv_decoder::csv_decoder(csv_decoder&&) noexcept = default;
csv_decoder& csv_decoder::operator=(csv_decoder&&) noexcept = default;
csv_decoder::~csv_decoder() = default;

tensor_tuple csv_decoder::decode(std::span<const std::string_view> records) const {
  run r(*plan_, {static_cast<std::int64_t>(records.size())});
  detail::of_call(records.size(), [&] { r.add_all(records); });
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
  run r(*plan_, records.shape());
  detail::of_call(texts.size(), [&] { r.add_all(texts); });
  return r.take();
}

tensor_tuple csv_decoder::decode_one(std::string_view record) const {
  run r(*plan_, {});
  r.add(record);
  return r.take();
}

const element_spec& csv_decoder::spec() const noexcept { return plan_->spec; }

}  // namespace leat
