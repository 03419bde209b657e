#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <leat/codec/example/features.hpp>
#include <leat/tensor/dtype.hpp>

#include "terminal/output.hpp"

namespace tool {

/// The declaration of a column.
struct column_info {
  enum class form {
    scalar,  ///< one value for each record
    dense,   ///< a tensor for each record
    list,    ///< any number of values for each record: sparse, of two dimensions
    other,   ///< sparse of more dimensions, filled up or ragged
  };
  std::string name;
  leat::dtype type = leat::dtype::float32;
  form shape = form::scalar;
  std::string text;  ///< "float32 [?,2]"
};

/// The columns of a batch of records.
struct column_output {
  struct column {
    std::string name;
    leat::parsed_features::value value;
  };
  std::size_t records = 0;
  std::vector<column> columns;

  /// Returns the bytes of memory of the values.
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// {"point": {"dtype": "float32", "shape": [2, 2], "values": [[0.5, 1], [0, 2]]}}. A sparse column
/// has "dense_shape" and "indices", a ragged one "row_splits".
[[nodiscard]] json to_json(const column_output& batch);

/// Returns the names of the columns as a line of CSV (RFC 4180), without its end.
[[nodiscard]] std::string csv_header(const std::vector<column_info>& columns, char delimiter);

/// Returns a record as a line of CSV. All columns of the batch are scalars.
[[nodiscard]] std::string csv_line(const column_output& batch, std::size_t record, char delimiter);

/// Returns the first line of a file of CSV, given without its end. Its first field is put in quotes
/// if readers would take the beginning of the file for compressed data or a byte order mark.
[[nodiscard]] std::string csv_first_line(std::string line, char delimiter);

/// Returns a record as a serialized tf.train.Example. The columns are dense or lists, of types that
/// can_be_feature() accepts.
[[nodiscard]] std::string make_example(const column_output& batch, std::size_t record);

/// Returns true if an Example can store the type: float32, int64, string, and int32 as int64.
[[nodiscard]] bool can_be_feature(leat::dtype type) noexcept;

}  // namespace tool
