#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "leat/tensor/dtype.hpp"
#include "leat/tensor/ragged_tensor.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/sparse_tensor.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

// Descriptions of the features of an Example. Types are float32, int64 and string.

/// A feature that has as many values in each record as its shape. Its result is a tensor.
struct fixed_len_feature {
  /// The type of the values: float32, int64 or string.
  dtype type = dtype::float32;
  /// The shape in one record; it must be fully known.
  partial_shape shape = {};
  /// The value for records without the feature, with as many values as the shape. If not set, a
  /// missing feature is an error.
  std::optional<tensor> default_value = {};
};

/// A feature that may have any number of values in each record, including 0. Its result is a
/// sparse_tensor.
struct var_len_feature {
  /// The type of the values: float32, int64 or string.
  dtype type = dtype::float32;
};

/// A feature whose values carry their own indices: one feature of the record contains the values,
/// and one feature for each dimension contains the indices. Its result is a sparse_tensor.
struct sparse_feature {
  /// The keys of the features with the indices, one for each dimension.
  std::vector<std::string> index_keys;
  /// The key of the feature with the values.
  std::string value_key;
  /// The type of the values: float32, int64 or string.
  dtype type = dtype::float32;
  /// The dimensions of one record: one for each index key. Indices are from 0 to one less than the
  /// dimension.
  std::vector<std::int64_t> size;
  /// If true, the indices of each record are already in ascending order, and the parser does not
  /// sort them.
  bool already_sorted = false;
};

/// A feature that may have any number of rows of a fixed shape in each record. Its result is a
/// tensor. In a batch, each record is padded to the longest one.
struct fixed_len_sequence_feature {
  /// The type of the values: float32, int64 or string.
  dtype type = dtype::float32;
  /// The shape of one row. It must be fully known and have at least one value.
  partial_shape shape = {};
  /// If true, a record without the feature has 0 rows. It must be true for an Example, because an
  /// Example stores a sequence of 0 rows by leaving the feature out.
  bool allow_missing = false;
  /// The value that pads a batch; exactly one value. If not set: 0 or "".
  std::optional<tensor> default_value = {};
};

/// A partition of the values of a ragged_feature, or of the rows of the next finer partition, into
/// rows. The row boundaries are an int64 feature of the record, or all rows have the same length.
struct ragged_partition {
  /// The meaning of the numbers in the feature.
  enum kind : std::uint8_t {
    row_splits,          ///< the start of each row, then the end of the last row
    row_lengths,         ///< the length of each row
    row_starts,          ///< the start of each row; the first is 0
    row_limits,          ///< the end of each row; the last is the number of values
    value_row_ids,       ///< the row index of each value; no empty rows at the end
    uniform_row_length,  ///< no feature; all rows have the length `length`
  };

  /// The kind of the partition: the meaning of the numbers in the feature.
  kind how = row_splits;
  std::string key = {};     ///< the key of the feature
  std::int64_t length = 0;  ///< for uniform_row_length; at least 1
};

/// A feature whose values are grouped into rows, which partitions can group into rows again. Its
/// result is a ragged_tensor. For one record, it is a tensor if no partition has a key.
struct ragged_feature {
  /// The type of the values: float32, int64 or string.
  dtype type = dtype::float32;
  /// The key of the values in the record. If not set, the name of the feature.
  std::optional<std::string> value_key = {};
  /// The partitions, outermost first. The uniform_row_length partitions at the end of the list
  /// become dimensions of the values. Every other partition becomes a level of rows.
  std::vector<ragged_partition> partitions = {};
  dtype row_splits_type = dtype::int32;  ///< or int64
};

/// One of the five kinds of feature. In a feature_map, the key is the name of the result. Except
/// for sparse_feature, and for ragged_feature with a value_key, it is also the key in the record.
using feature = std::variant<fixed_len_feature, var_len_feature, sparse_feature,
                             fixed_len_sequence_feature, ragged_feature>;
/// The requested features, by name.
using feature_map = std::map<std::string, feature, std::less<>>;

/// The result of parsing: a tensor, a sparse tensor or a ragged tensor for each requested feature.
///
/// A value type. Thread safety: thread-compatible.
class parsed_features {
 public:
  /// The result of one feature.
  using value = std::variant<tensor, sparse_tensor, ragged_tensor>;
  /// The results of all features, by name.
  using value_map = std::map<std::string, value, std::less<>>;

  parsed_features() noexcept = default;
  explicit parsed_features(value_map values) noexcept : values_(std::move(values)) {}

  /// Returns the value of a feature: dense() if its result is a tensor, sparse() if it is a sparse
  /// tensor, and ragged() if it is a ragged tensor.
  ///
  /// Errors: not_found, if there is no such feature or its result is of another kind. The message
  ///         lists the existing features or names the kind.
  [[nodiscard]] const tensor& dense(std::string_view name) const;
  [[nodiscard]] const sparse_tensor& sparse(std::string_view name) const;
  [[nodiscard]] const ragged_tensor& ragged(std::string_view name) const;

  /// Returns all values, by name.
  [[nodiscard]] const value_map& values() const noexcept { return values_; }

  /// Moves all values into named components, as queues and batchers accept them, and leaves this
  /// object empty. A tensor is one component, NAME. A sparse tensor is three: NAME/indices,
  /// NAME/values and NAME/dense_shape. A ragged tensor is NAME/values and, for each level,
  /// NAME/row_splits/0 and so on.
  [[nodiscard]] tensor_tuple take() &&;

  friend bool operator==(const parsed_features&, const parsed_features&) noexcept = default;

 private:
  value_map values_;
};

}  // namespace LEAT
