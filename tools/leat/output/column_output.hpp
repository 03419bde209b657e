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

/// What is known of a column before there is one.
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

/// The columns that were made of a batch of records.
struct column_output {
  struct column {
    std::string name;
    leat::parsed_features::value value;
  };
  std::size_t records = 0;
  std::vector<column> columns;

  /// Bytes of memory that the values take.
  [[nodiscard]] std::size_t bytes() const noexcept;
};

/// {"point": {"dtype": "float32", "shape": [2, 2], "values": [[0.5, 1], [0, 2]]}}. A sparse column
/// has "dense_shape" and "indices", a ragged one "row_splits".
[[nodiscard]] json to_json(const column_output& batch);

/// The names of the columns as a line of CSV, RFC 4180, without its end.
[[nodiscard]] std::string csv_header(const std::vector<column_info>& columns, char delimiter);

/// A record of a batch whose columns are all scalars, as a line of CSV.
[[nodiscard]] std::string csv_line(const column_output& batch, std::size_t record, char delimiter);

/// A record of a batch as a serialized tf.train.Example. Its columns are dense or lists, of the
/// types that can_be_feature() has.
[[nodiscard]] std::string make_example(const column_output& batch, std::size_t record);

/// Whether an Example has values of a type: float32, int64, string, and int32 as int64.
[[nodiscard]] bool can_be_feature(leat::dtype type) noexcept;

}  // namespace tool
