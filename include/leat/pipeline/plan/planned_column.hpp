#pragma once

#include <cstdint>
#include <string>

#include "leat/tensor/dtype.hpp"

namespace LEAT {

/// A column of the batches of a pipeline_plan, known before a file is read.
struct planned_column {
  /// The kind of value that each record has in the column.
  enum class form : std::uint8_t {
    scalar,  ///< one value
    dense,   ///< a tensor of one shape
    list,    ///< any number of values: a sparse_tensor of two dimensions
    other,   ///< a sparse_tensor of more dimensions, padded rows, or a ragged_tensor
  };
  std::string name;             ///< as in planned_batch::column
  dtype type = dtype::float32;  ///< the type of its values
  form shape = form::scalar;    ///< the kind of value of a record
  std::string text;             ///< a description, such as "float32 [?,2]"
};

}  // namespace LEAT
