#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <leat/pipeline/plan/planned_batch.hpp>
#include <leat/pipeline/plan/planned_column.hpp>
#include <leat/tensor/dtype.hpp>

#include "terminal/output.hpp"

namespace tool {

/// {"point": {"dtype": "float32", "shape": [2, 2], "values": [[0.5, 1], [0, 2]]}}. A sparse column
/// has "dense_shape" and "indices", a ragged one "row_splits".
[[nodiscard]] json to_json(const leat::planned_batch& batch);

/// Returns the names of the columns as a line of CSV (RFC 4180), without its end.
[[nodiscard]] std::string csv_header(const std::vector<leat::planned_column>& columns,
                                     char delimiter);

/// Returns a record as a line of CSV. All columns of the batch are scalars.
[[nodiscard]] std::string csv_line(const leat::planned_batch& batch, std::size_t record,
                                   char delimiter);

/// Returns the first line of a file of CSV, given without its end. Its first field is put in quotes
/// if readers would take the beginning of the file for compressed data or a byte order mark.
[[nodiscard]] std::string csv_first_line(std::string line, char delimiter);

/// Returns a record as a serialized tf.train.Example. The columns are dense or lists, of types that
/// can_be_feature() accepts.
[[nodiscard]] std::string make_example(const leat::planned_batch& batch, std::size_t record);

/// Returns true if an Example can store the type: float32, int64, string, and int32 as int64.
[[nodiscard]] bool can_be_feature(leat::dtype type) noexcept;

}  // namespace tool
