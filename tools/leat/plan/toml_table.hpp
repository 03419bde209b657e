#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leat/base/clock.hpp>

#include "plan/toml_document.hpp"

namespace tool {

using toml_errors = std::vector<toml_error>;

/// The title of a whole document.
inline constexpr std::string_view document_title = "the file";

/// A table of a TOML document that is read key by key. An error is collected and reading continues,
/// so that all errors are reported together; the variable to read into then keeps its value.
///
///     toml_table s(value, "[source]", found);
///     s.read("interleave", source.interleave, 1, 1024);
///     s.reject_unknown_keys();
class toml_table {
 public:
  /// `title`: the name of the table in messages. `table` and `found` must outlive this object.
  toml_table(const toml_value& table, std::string title, toml_errors& found);

  [[nodiscard]] bool has(std::string_view key) const noexcept;
  /// Returns the value of a key, or null if it is missing.
  [[nodiscard]] const toml_value* find(std::string_view key);
  /// Like find(), but for a required key; `what` describes the value in the error message.
  [[nodiscard]] const toml_value* require(std::string_view key, std::string_view what);

  void read(std::string_view key, bool& to);
  void read(std::string_view key, std::string& to);
  void read(std::string_view key, std::vector<std::string>& to);
  void read(std::string_view key, std::vector<std::int64_t>& to);

  /// A whole number from `least` to `most`.
  template <class Number>
  void read(std::string_view key, Number& to, std::int64_t least,
            std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
    if (const auto n = number(key, least, most)) to = static_cast<Number>(*n);
  }

  /// Bytes: a whole number, or a text with a unit, "16 MiB".
  template <class Number>
  void read_size(std::string_view key, Number& to, std::int64_t least = 1,
                 std::int64_t most = std::int64_t{1} << 62) {
    if (const auto n = size(key, least, most)) to = static_cast<Number>(*n);
  }

  /// A time with its unit, "1.5 s".
  void read_duration(std::string_view key, std::optional<leat::time_span>& to);

  /// Reads one of some names; `choices` maps them to values.
  template <class Value, class Choices>
  void choose(std::string_view key, Value& to, const Choices& choices) {
    if (!find(key)) return;
    if (const std::string* const name = choose_name(key, choices)) to = choices.find(*name)->second;
  }
  /// Returns the name of a required key, or null if it is missing or not one of the choices.
  template <class Choices>
  [[nodiscard]] const std::string* choose_name(std::string_view key, const Choices& choices) {
    std::vector<std::string_view> names;
    for (const auto& [known, meaning] : choices) names.push_back(known);
    return choose_one(key, names);
  }

  [[nodiscard]] const std::string* choose_one(std::string_view key,
                                              const std::vector<std::string_view>& names);

  /// Returns the tables of a list; `what` describes a table in messages.
  [[nodiscard]] std::vector<toml_table> tables(std::string_view key, std::string_view what);

  /// Adds an error for every key that has not been read.
  void reject_unknown_keys();

  /// Adds an error in the value of a key, or in the whole table.
  void add_error(std::string_view key, std::string_view why);
  void add_error(const std::string& why);
  /// Adds the error that the value `v` of a key is not a `wanted`.
  void add_value_error(std::string_view key, const toml_value& v, std::string_view wanted);

  /// Returns the number of errors so far, in the whole document.
  [[nodiscard]] std::size_t error_count() const noexcept { return errors_.size(); }

  [[nodiscard]] const std::string& title() const noexcept { return title_; }
  void rename(std::string title) { title_ = std::move(title); }
  [[nodiscard]] const toml_value& value() const noexcept { return value_; }

 private:
  [[nodiscard]] const toml_value* find_entry(std::string_view key) const noexcept;
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view key, std::int64_t least,
                                                   std::int64_t most);
  [[nodiscard]] std::optional<std::int64_t> size(std::string_view key, std::int64_t least,
                                                 std::int64_t most);
  const toml_value& value_;
  std::string title_;
  toml_errors& errors_;
  std::set<std::string, std::less<>> requested_keys_;  // keys that were asked for
};

}  // namespace tool
