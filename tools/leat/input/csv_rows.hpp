#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leat/tensor/dtype.hpp>

namespace tool {

/// What is wrong with a row.
class row_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Rows of comma separated values, RFC 4180: a field in quotes may hold commas, line ends and
/// doubled quotes.
class csv_rows {
 public:
  /// `quotes`: if false, a quote is a character like any other, and each line is a row.
  explicit csv_rows(char delimiter, bool quotes = true) : delimiter_(delimiter), quotes_(quotes) {}

  /// Takes the next line, without its end. True: fields() are those of a whole row. False: a quoted
  /// field goes on in the next line. `end_before`: with what the line before it ended.
  /// Errors: row_error for a quote where none can be, or one that is never closed.
  bool add(std::string_view line, std::string_view end_before = "\n");

  /// Errors: row_error when the last row is not complete.
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
  std::optional<leat::dtype> type = {};  ///< none: it was not said, and what is read is bytes
};

/// A column whose name another one before it has; none is null.
[[nodiscard]] const csv_field* find_duplicate(const std::vector<csv_field>& columns);

/// "age:int64,name,weight:float", the value of `option`.
/// Errors: usage_error, also for a name that occurs twice.
[[nodiscard]] std::vector<csv_field> parse_columns(const std::string& text,
                                                   std::string_view option = "--columns");

/// "'a', 'b', 'c'": the first few of some names.
[[nodiscard]] std::string quoted_names(const std::vector<std::string>& names);

/// A row as a tf.train.Example. A number that is left empty is a feature without values.
/// Errors: row_error for another number of fields, or one that is no number.
[[nodiscard]] std::string to_example(const std::vector<csv_field>& columns,
                                     const std::vector<std::string>& fields);

}  // namespace tool
