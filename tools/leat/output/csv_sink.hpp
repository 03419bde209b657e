#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leat/codec/example/decode_example.hpp>
#include <leat/tensor/dtype.hpp>

#include "input/csv_rows.hpp"
#include "output/column_output.hpp"
#include "output/record_sink.hpp"

namespace tool {

/// Writes tf.train.Examples as rows of CSV, as csv_line() does. Each has one value of each column,
/// and all have the same; a number without a value is an empty field.
class csv_sink final : public record_sink {
 public:
  /// `columns`: what is written of each record, in this order; none: all of the first one's, and
  /// the others have no more. `header`: the first line names them.
  csv_sink(std::unique_ptr<record_sink> to, const std::vector<csv_field>& columns, char delimiter,
           bool header);

  /// Says what the columns are, unless that is known.
  void name_columns(const std::vector<csv_field>& columns);

  /// The records that follow come from `source`: errors name it, and count from its first record.
  void start_file(std::string source);

  /// Errors: leat::failure for a record that is no such row, with its file and its number.
  leat::task<> write(leat::byte_view record) override;
  leat::task<> close() override;
  std::vector<std::string> paths() const override { return to_->paths(); }

 private:
  using values = leat::decoded_example::values;

  struct column {
    std::string name;
    std::optional<leat::dtype> type;  // none: nothing has told it yet
    bool was_empty = false;
  };

  [[nodiscard]] column_output make_row(const leat::decoded_example& example);
  [[nodiscard]] leat::tensor to_value(column& c, const values& v) const;
  [[noreturn]] void throw_record_error(const std::string& why) const;
  leat::task<> write_header();

  const std::unique_ptr<record_sink> to_;
  std::vector<column> columns_;
  const char delimiter_;
  const bool ignores_other_features_;  // features that are no columns
  bool header_due_;
  std::string source_;
  std::uint64_t records_ = 0;  // of source_
};

}  // namespace tool
