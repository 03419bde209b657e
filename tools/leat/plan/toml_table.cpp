#include "plan/toml_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "terminal/text.hpp"

namespace tool {
namespace {

// Returns a value for a message.
std::string describe_value(const toml_value& v) {
  struct visitor {
    std::string operator()(const toml_value::date&) const { return "a date or time"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t n) const { return fmt::format("{}", n); }
    std::string operator()(double n) const { return fmt::format("{}", n); }
    std::string operator()(const std::string& text) const {
      return fmt::format("\"{}\"", escape_text(std::string_view(text).substr(0, 40)));
    }
    std::string operator()(const toml_value::list&) const { return "a list"; }
    std::string operator()(const toml_value::table&) const { return "a table"; }
  };
  return std::visit(visitor(), v.value);
}

using units = std::span<const std::pair<std::string_view, double>>;

constexpr std::array<std::pair<std::string_view, double>, 6> size_units{
    {{"B", 1.0},
     {"KiB", 1024.0},
     {"MiB", 1024.0 * 1024},
     {"GiB", 1024.0 * 1024 * 1024},
     {"TiB", 1024.0 * 1024 * 1024 * 1024},
     {"", 1.0}}};
constexpr std::array<std::pair<std::string_view, double>, 4> time_units{
    {{"ms", 1e-3}, {"s", 1.0}, {"min", 60.0}, {"h", 3600.0}}};

// Converts "1.5 MiB" to the smallest unit; returns nothing for a text of another form.
std::optional<double> with_unit(std::string_view text, units all) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, factor] : all) {
    if (unit == name) return value * factor;
  }
  return std::nullopt;
}

// Returns the values of a list; nothing if one has another type.
template <class T>
std::optional<std::vector<T>> all_of(const toml_value& v) {
  const auto* const list = v.as<toml_value::list>();
  if (!list) return std::nullopt;
  std::vector<T> all;
  for (const toml_value& element : *list) {
    const T* const one = element.as<T>();
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  return all;
}

}  // namespace

toml_table::toml_table(const toml_value& table, std::string title, toml_errors& found)
    : value_(table), title_(std::move(title)), errors_(found) {
  if (!table.as<toml_value::table>()) add_error("give a table, not " + describe_value(table));
}

const toml_value* toml_table::find_entry(std::string_view key) const noexcept {
  const auto* const entries = value_.as<toml_value::table>();
  if (!entries) return nullptr;
  for (const toml_value::entry& e : *entries) {
    if (e.key == key) return &e.value;
  }
  return nullptr;
}

bool toml_table::has(std::string_view key) const noexcept { return find_entry(key) != nullptr; }

const toml_value* toml_table::find(std::string_view key) {
  requested_keys_.emplace(key);
  return find_entry(key);
}

const toml_value* toml_table::require(std::string_view key, std::string_view what) {
  const toml_value* const v = find(key);
  const bool is_table = value_.as<toml_value::table>() != nullptr;
  if (!v && is_table) add_error(fmt::format("'{}' is missing: give {}", key, what));
  return v;
}

void toml_table::read(std::string_view key, bool& to) {
  const toml_value* const v = find(key);
  if (!v) return;
  if (const bool* const b = v->as<bool>()) {
    to = *b;
  } else {
    add_value_error(key, *v, "true or false");
  }
}

void toml_table::read(std::string_view key, std::string& to) {
  const toml_value* const v = find(key);
  if (!v) return;
  if (const std::string* const text = v->as<std::string>()) {
    to = *text;
  } else {
    add_value_error(key, *v, "a text");
  }
}

void toml_table::read(std::string_view key, std::vector<std::string>& to) {
  const toml_value* const v = find(key);
  if (!v) return;
  if (auto all = all_of<std::string>(*v)) {
    to = *std::move(all);
  } else {
    add_value_error(key, *v, "a list of texts");
  }
}

void toml_table::read(std::string_view key, std::vector<std::int64_t>& to) {
  const toml_value* const v = find(key);
  if (!v) return;
  if (auto all = all_of<std::int64_t>(*v)) {
    to = *std::move(all);
  } else {
    add_value_error(key, *v, "a list of whole numbers");
  }
}

std::optional<std::int64_t> toml_table::number(std::string_view key, std::int64_t least,
                                               std::int64_t most) {
  const toml_value* const v = find(key);
  if (!v) return std::nullopt;
  const std::int64_t* const n = v->as<std::int64_t>();
  if (n && *n >= least && *n <= most) return *n;
  const bool bounded = most != std::numeric_limits<std::int64_t>::max();
  add_value_error(key, *v,
                  bounded ? fmt::format("a whole number from {} to {}", least, most)
                          : fmt::format("a whole number of {} or more", least));
  return std::nullopt;
}

std::optional<std::int64_t> toml_table::size(std::string_view key, std::int64_t least,
                                             std::int64_t most) {
  const toml_value* const v = find(key);
  if (!v) return std::nullopt;
  std::optional<double> bytes;
  if (const std::int64_t* const n = v->as<std::int64_t>()) {
    if (*n >= least && *n <= most) return *n;
  } else if (const std::string* const text = v->as<std::string>()) {
    bytes = with_unit(*text, size_units);
  }
  if (bytes && *bytes >= static_cast<double>(least) && *bytes <= static_cast<double>(most)) {
    return static_cast<std::int64_t>(*bytes);
  }
  add_value_error(key, *v,
                  fmt::format("{} to {} bytes, as a number or such as \"16 MiB\"", least, most));
  return std::nullopt;
}

void toml_table::read_duration(std::string_view key, std::optional<leat::time_span>& to) {
  const toml_value* const v = find(key);
  if (!v) return;
  std::optional<double> seconds;
  if (const std::string* const text = v->as<std::string>()) seconds = with_unit(*text, time_units);
  constexpr double most = 1e9;
  if (seconds && *seconds > 0 && *seconds < most) {
    to = std::chrono::duration_cast<leat::duration>(std::chrono::duration<double>(*seconds));
  } else {
    add_value_error(key, *v, "a time with its unit, such as \"30 s\" or \"500 ms\"");
  }
}

std::vector<toml_table> toml_table::tables(std::string_view key, std::string_view what) {
  std::vector<toml_table> all;
  const toml_value* const v = find(key);
  if (!v) return all;
  const auto* const list = v->as<toml_value::list>();
  if (!list) {
    add_value_error(key, *v, fmt::format("a list of tables, one for each {}", what));
    return all;
  }
  const std::string before = title_ == document_title ? std::string() : title_ + ", ";
  for (std::size_t i = 0; i < list->size(); ++i) {
    all.emplace_back((*list)[i], fmt::format("{}{} {}", before, what, i + 1), errors_);
  }
  return all;
}

void toml_table::reject_unknown_keys() {
  const auto* const entries = value_.as<toml_value::table>();
  if (!entries) return;
  for (const toml_value::entry& e : *entries) {
    if (requested_keys_.contains(e.key)) continue;
    errors_.push_back({e.where, fmt::format("{}: unknown key '{}': use one of {}", title_,
                                            escape_text(e.key), fmt::join(requested_keys_, ", "))});
  }
}

void toml_table::add_error(std::string_view key, std::string_view why) {
  const toml_value* const v = find_entry(key);
  errors_.push_back({v ? v->where : value_.where, fmt::format("{}: {}: {}", title_, key, why)});
}

void toml_table::add_error(const std::string& why) {
  errors_.push_back({value_.where, fmt::format("{}: {}", title_, why)});
}

const std::string* toml_table::choose_one(std::string_view key,
                                          const std::vector<std::string_view>& names) {
  std::string wanted;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) wanted += i + 1 == names.size() ? " or " : ", ";
    wanted += fmt::format("\"{}\"", names[i]);
  }
  const toml_value* const v = require(key, wanted);
  if (!v) return nullptr;
  const std::string* const name = v->as<std::string>();
  if (name && std::ranges::find(names, *name) != names.end()) return name;
  add_value_error(key, *v, wanted);
  return nullptr;
}

void toml_table::add_value_error(std::string_view key, const toml_value& v,
                                 std::string_view wanted) {
  errors_.push_back(
      {v.where, fmt::format("{}: {}: give {}, not {}", title_, key, wanted, describe_value(v))});
}

}  // namespace tool
