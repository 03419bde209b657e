#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <leat/codec/example/decode_example.hpp>
#include <leat/pipeline/plan/planned_batch.hpp>
#include <leat/tensor/dtype.hpp>

#include "input/csv_rows.hpp"
#include "output/column_output.hpp"
#include "output/csv_line_writer.hpp"
#include "output/record_sink.hpp"

namespace tool {

/// Writes tf.train.Examples as rows of CSV, as csv_line() does. All examples have the same columns,
/// with one value each; a number without a value becomes an empty field.
class csv_sink final : public record_sink {
 public:
  /// `columns`: the features to write, in this order. If empty, the first record sets them, and
  /// later records must not have others. `header`: the first line names the columns.
  csv_sink(std::unique_ptr<record_sink> to, const std::vector<csv_field>& columns, char delimiter,
           bool header);

  /// Sets the columns, unless they are known.
  void name_columns(const std::vector<csv_field>& columns);

  /// Sets the source of the next records; errors contain it and the index of the record in it.
  void start_file(std::string source);

  /// Errors: leat::failure for a record that cannot be a row, with its file and its index.
  leat::task<> write(leat::byte_view record) override;
  leat::task<> flush() override { return to_->flush(); }
  leat::task<> close() override;
  std::vector<std::string> paths() const override { return to_->paths(); }

 private:
  using values = leat::decoded_example::values;

  struct column {
    std::string name;
    std::optional<leat::dtype> type;  // not set until a record has a value
    bool was_empty = false;
  };

  [[nodiscard]] leat::decoded_example decode(leat::byte_view record) const;
  [[nodiscard]] leat::planned_batch make_row(const leat::decoded_example& example);
  [[nodiscard]] leat::tensor to_value(column& c, const values& v) const;
  [[noreturn]] void throw_record_error(const std::string& why) const;
  leat::task<> write_header();

  const std::unique_ptr<record_sink> to_;
  csv_line_writer lines_;
  std::vector<column> columns_;
  const char delimiter_;
  const bool ignores_other_features_;  // features without a column
  bool header_due_;
  std::string source_;
  std::uint64_t records_ = 0;  // of source_
};

}  // namespace tool
