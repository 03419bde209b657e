#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leat/tensor/dtype.hpp>

namespace tool {

/// An error in a row.
class row_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Rows of comma separated values, RFC 4180: a field in quotes may hold commas, line ends and
/// doubled quotes.
class csv_rows {
 public:
  /// `quotes`: if false, a quote is an ordinary character, and each line is a row.
  explicit csv_rows(char delimiter, bool quotes = true) : delimiter_(delimiter), quotes_(quotes) {}

  /// Adds the next line, without its end. Returns true if fields() is a complete row, or false
  /// if a quoted field continues in the next line. `end_before`: the end of the line before it.
  /// Errors: row_error for a misplaced or unclosed quote.
  bool add(std::string_view line, std::string_view end_before = "\n");

  /// Errors: row_error if the last row is not complete.
  void finish() const;

  [[nodiscard]] const std::vector<std::string>& fields() const noexcept { return fields_; }

 private:
  char delimiter_;
  bool quotes_;
  bool quoted_ = false;  // within quotes
  std::vector<std::string> fields_;
  std::size_t row_size_ = 0;
};

/// A column of a table, as a feature of a tf.train.Example.
struct csv_field {
  std::string name;
  std::optional<leat::dtype> type = {};  ///< not set: reads as bytes
};

/// Returns the first column whose name occurs before it, or null.
[[nodiscard]] const csv_field* find_duplicate(const std::vector<csv_field>& columns);

/// Parses "age:int64,name,weight:float", the value of `option`.
/// Errors: usage_error, also for a name that occurs twice.
[[nodiscard]] std::vector<csv_field> parse_columns(const std::string& text,
                                                   std::string_view option = "--columns");

/// Lists the first names: "'a', 'b', 'c' and 7 more".
[[nodiscard]] std::string quoted_names(const std::vector<std::string>& names);

/// Converts a row to a tf.train.Example. An empty number becomes a feature without values.
/// Errors: row_error for a wrong number of fields, or a field that is not a number.
[[nodiscard]] std::string to_example(const std::vector<csv_field>& columns,
                                     const std::vector<std::string>& fields);

}  // namespace tool
