#include "leat/codec/csv_decoder.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "codec/csv_splitter.hpp"
#include "codec/excerpt.hpp"
#include "codec/number_text.hpp"
#include "codec/string_column.hpp"
#include "core/tensor_maker.hpp"
#include "leat/core/error.hpp"

namespace leat {
namespace {

using detail::parsed;
using detail::tensor_maker;

constexpr std::size_t every_field = std::numeric_limits<std::size_t>::max();

[[noreturn]] void refuse(const std::string& why) {
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
    refuse(which + " is of " + std::string(name(value.type())) +
           ": int32, int64, float32, float64 and string can be decoded");
  }
  if (value.shape().rank() > 1 || value.count() > 1) {
    refuse(which + " has a default_value of shape " + to_string(value.shape()) +
           ": give a scalar, or a vector of none for a field that must be there");
  }
}

void check_options(const csv_options& o, std::size_t columns) {
  if (o.delimiter == '"' || o.delimiter == '\n' || o.delimiter == '\r') {
    refuse("the delimiter cannot be a quote or a line end");
  }
  if (o.select.empty()) return;
  if (o.select.size() != columns) {
    refuse("select names " + std::to_string(o.select.size()) + " fields for " +
           std::to_string(columns) + " columns");
  }
  if (!std::ranges::is_sorted(o.select, std::less_equal<>())) refuse("select has to rise");
}

element_spec spec_of(const std::vector<csv_column>& columns) {
  if (columns.empty()) refuse("no column");
  std::vector<component_spec> components;
  for (const csv_column& c : columns) {
    check_column(c, components.size());
    components.push_back({.type = c.default_value.type(), .shape = {}, .name = c.name});
  }
  return element_spec(std::move(components));
}

template <class T>
parsed parse_into(std::byte* place, std::string_view text) noexcept {
  T value{};
  const parsed result = detail::parse_number(text, value);
  std::memcpy(place, &value, sizeof value);
  return result;
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
  [[nodiscard]] bool is_missing(std::string_view text) const noexcept {
    return text.empty() || (!options.na_value.empty() && text == options.na_value);
  }

  element_spec spec;
  std::vector<csv_column> columns;
  csv_options options;
};

namespace {

// The values of one column, to which one record after the other is added.
class column_values {
 public:
  column_values(const csv_column& column, const shape& s)
      : default_(&column.default_value), type_(default_->type()) {
    if (type_ == dtype::string) {
      strings_.reserve(s.count());
    } else {
      numbers_ = tensor_maker::values(type_, s);
      place_ = tensor_maker::bytes(numbers_);
      size_ = size_of(type_);
    }
  }

  [[nodiscard]] dtype type() const noexcept { return type_; }

  // False: there is none.
  bool add_default() {
    if (default_->count() == 0) return false;
    if (type_ == dtype::string) {
      strings_.add(default_->strings()[0]);
    } else {
      std::memcpy(place_, tensor_maker::bytes(*default_), size_);
      place_ += size_;
    }
    return true;
  }

  parsed add(std::string_view text) {
    std::byte* const place = std::exchange(place_, place_ + size_);
    switch (type_) {
      case dtype::int32: return parse_into<std::int32_t>(place, text);
      case dtype::int64: return parse_into<std::int64_t>(place, text);
      case dtype::float32: return parse_into<float>(place, text);
      case dtype::float64: return parse_into<double>(place, text);
      default: strings_.add(text); return parsed::ok;
    }
  }

  [[nodiscard]] tensor take(const shape& s) {
    return type_ == dtype::string ? strings_.take(s) : std::move(numbers_);
  }

 private:
  const tensor* default_;
  dtype type_;
  tensor numbers_;
  std::byte* place_ = nullptr;  // of the next number
  std::size_t size_ = 0;        // of one
  detail::string_column strings_;
};

}  // namespace

// Decodes the records of one call.
class csv_decoder::run {
 public:
  run(const plan& p, shape s)
      : plan_(p),
        shape_(std::move(s)),
        splitter_(p.options.delimiter, p.options.quotes,
                  p.options.select.empty() ? p.columns.size() + 1 : p.options.select.back() + 1) {
    values_.reserve(p.columns.size());
    for (const csv_column& c : p.columns) values_.emplace_back(c, shape_);
  }

  void add(std::string_view record) {
    const auto fields = splitter_.split(record, number_);
    check_count(record, fields.size());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::string_view text = fields[plan_.field_of(i)];
      if (plan_.is_missing(text)) {
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
    for (column_values& v : values_) columns.push_back(v.take(shape_));
    return plan_.spec.make_tuple(std::move(columns));
  }

 private:
  void check_count(std::string_view record, std::size_t found) const {
    const std::vector<std::size_t>& select = plan_.options.select;
    if (select.empty()) {
      if (found == values_.size()) return;
      // Of too many the splitter has found one too many only.
      detail::csv_splitter all(plan_.options.delimiter, plan_.options.quotes, every_field);
      if (found > values_.size()) found = all.split(record, number_).size();
    } else {
      if (found > select.back()) return;
      found = static_cast<std::size_t>(std::ranges::lower_bound(select, found) - select.begin());
    }
    throw decode_error(number_, ": the number of fields is " + std::to_string(found) +
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
  std::vector<column_values> values_;
  std::size_t number_ = 0;  // of the present record
};

csv_decoder::csv_decoder(std::vector<csv_column> columns, csv_options options)
    : plan_(std::make_unique<const plan>(std::move(columns), std::move(options))) {}

csv_decoder::csv_decoder(csv_decoder&&) noexcept = default;
csv_decoder& csv_decoder::operator=(csv_decoder&&) noexcept = default;
csv_decoder::~csv_decoder() = default;

tensor_tuple csv_decoder::decode(std::span<const std::string_view> records) const {
  run r(*plan_, {static_cast<std::int64_t>(records.size())});
  for (const std::string_view record : records) r.add(record);
  return r.take();
}

tensor_tuple csv_decoder::decode(std::span<const byte_view> records) const {
  run r(*plan_, {static_cast<std::int64_t>(records.size())});
  for (const byte_view record : records) r.add(as_text(record));
  return r.take();
}

tensor_tuple csv_decoder::decode(const tensor& records) const {
  run r(*plan_, records.shape());
  for (const std::string_view record : records.strings()) r.add(record);
  return r.take();
}

tensor_tuple csv_decoder::decode_one(std::string_view record) const {
  run r(*plan_, {});
  r.add(record);
  return r.take();
}

const element_spec& csv_decoder::spec() const noexcept { return plan_->spec; }

}  // namespace leat
