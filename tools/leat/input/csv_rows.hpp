#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/bytes.hpp>
#include <leat/codec/csv/csv_decoder.hpp>
#include <leat/tensor/dtype.hpp>

namespace tool {

/// A column of a table, as a feature of a tf.train.Example.
struct csv_field {
  std::string name;
  std::optional<leat::dtype> type = {};  ///< not set: reads as bytes
};

/// Converts records of comma-separated values to tf.train.Examples, with a feature for each column.
/// A number without a value becomes a feature without values.
class csv_rows {
 public:
  /// `columns`: all columns, in the order of the file; if empty, the header names them, and
  /// `selected` chooses some of them. If that is empty too, all have the type bytes.
  csv_rows(std::vector<csv_field> columns, std::vector<csv_field> selected, leat::csv_options how);

  /// Returns true until the columns are known.
  [[nodiscard]] bool needs_header() const noexcept { return !texts_; }
  /// Errors: leat::failure, if the record cannot be a header.
  void read_header(std::string_view record);

  /// Returns the columns; empty before the header was read.
  [[nodiscard]] const std::vector<csv_field>& columns() const noexcept { return columns_; }
  /// Returns the number of fields of each record.
  [[nodiscard]] std::size_t field_count() const noexcept { return field_count_; }

  /// Errors: leat::decode_error for the first record with a wrong number of fields, or with a field
  /// that is not a number.
  [[nodiscard]] std::vector<std::string> convert(std::span<const leat::byte_view> rows) const;
  /// Returns the Example of a blank line in a table of one column.
  [[nodiscard]] std::string convert_blank() const;

 private:
  void find_selected(const std::vector<std::string>& header);
  void make_decoders(std::size_t fields);

  leat::csv_options how_;
  std::vector<csv_field> columns_;
  std::vector<csv_field> selected_;
  std::vector<std::size_t> positions_;  // of the columns in a record
  std::vector<std::size_t> number_of_;  // the component of `numbers_`, for columns of numbers
  std::size_t field_count_ = 0;
  std::optional<leat::csv_decoder> texts_;    // all fields
  std::optional<leat::csv_decoder> numbers_;  // if there are columns of numbers
};

/// Returns the first column whose name occurs before it, or null.
[[nodiscard]] const csv_field* find_duplicate(const std::vector<csv_field>& columns);

/// Parses "age:int64,name,weight:float", the value of `option`.
/// Errors: usage_error, also for a name that occurs twice.
[[nodiscard]] std::vector<csv_field> parse_columns(const std::string& text,
                                                   std::string_view option = "--columns");

/// Lists the first names: "'a', 'b', 'c' and 7 more".
[[nodiscard]] std::string quoted_names(const std::vector<std::string>& names);

}  // namespace tool
