#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/codec/example/features.hpp"
#include "leat/pipeline/element/owned_batch.hpp"

namespace LEAT {

/// An element of a pipeline that was built from a pipeline_plan: a batch of records, of lines, or
/// of the columns that a stage has decoded from them.
///
///     while (auto batch = co_await p.next()) {
///       for (const auto& [name, value] : batch->columns()) use(name, value);
///     }
///
/// A value type. Thread safety: thread-compatible.
class planned_batch {
 public:
  /// A column: one row for each record. Its value is a tensor, a sparse or a ragged tensor.
  struct column {
    std::string name;              ///< as in planned_column
    parsed_features::value value;  ///< of all records
  };

  /// Creates a batch without records.
  planned_batch() noexcept = default;
  explicit planned_batch(owned_record_batch records) noexcept
      : records_(records.size()), content_(std::move(records)) {}
  explicit planned_batch(owned_line_batch lines) noexcept
      : records_(lines.size()), content_(std::move(lines)) {}
  /// Creates a batch of columns, which were decoded from as many records.
  planned_batch(std::size_t records, std::vector<column> columns) noexcept
      : records_(records), content_(std::move(columns)) {}

  /// Returns the number of records or lines, also if they were decoded.
  [[nodiscard]] std::size_t size() const noexcept { return records_; }
  /// Returns the number of bytes of all records, lines or values.
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// Returns true if the batch has columns instead of records or lines.
  [[nodiscard]] bool has_columns() const noexcept { return content_.index() == 2; }
  /// Returns the columns, in the order of the plan; empty for a batch of records or lines.
  [[nodiscard]] std::span<const column> columns() const noexcept;
  /// Moves out the columns; the batch is empty afterwards. Precondition: has_columns().
  [[nodiscard]] std::vector<column> take_columns() &&;

  /// Returns a record, or the bytes of a line. Preconditions: !has_columns(), i < size().
  [[nodiscard]] byte_view operator[](std::size_t i) const noexcept;
  /// Returns all records, or the bytes of all lines; empty if there are columns. Errors:
  /// std::bad_alloc.
  [[nodiscard]] std::vector<byte_view> views() const;
  /// Returns the position of a record or line in its file, such as "a.csv:7 at offset 120".
  /// Preconditions: those of operator[]. Errors: std::bad_alloc.
  [[nodiscard]] std::string position_text(std::size_t i) const;

 private:
  std::size_t records_ = 0;
  std::variant<owned_record_batch, owned_line_batch, std::vector<column>> content_;
};

}  // namespace LEAT
