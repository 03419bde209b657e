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

namespace leat {

// What is to become of the features of an Example. Types are float32, int64 and string.

/// As many values in each record as the shape has. Gives a tensor.
struct fixed_len_feature {
  dtype type = dtype::float32;
  /// Of one record; all of it known.
  partial_shape shape = {};
  /// For records without the feature: as many values as the shape has. None: that is an error.
  std::optional<tensor> default_value = {};
};

/// Any number of values in each record, also none. Gives a sparse_tensor.
struct var_len_feature {
  dtype type = dtype::float32;
};

/// Values that say themselves where they stand: in one feature the values, in one for each
/// dimension the indices. Gives a sparse_tensor.
struct sparse_feature {
  std::vector<std::string> index_keys;
  std::string value_key;
  dtype type = dtype::float32;
  /// The dimensions of one record: one for each index key. Indices are from 0 to below it.
  std::vector<std::int64_t> size;
  /// True: the indices of a record rise already.
  bool already_sorted = false;
};

/// Any number of rows of a shape in each record. Gives a tensor, which in a batch is filled up to
/// the longest with a value.
struct fixed_len_sequence_feature {
  dtype type = dtype::float32;
  /// Of one row; all of it known, and not without values.
  partial_shape shape = {};
  /// True: a record without the feature has 0 rows. Of an Example it must be, since that is how a
  /// sequence of none is written.
  bool allow_missing = false;
  /// What a batch is filled up with: one value. None: 0 or "".
  std::optional<tensor> default_value = {};
};

/// How the values of a ragged_feature, or the rows of the next finer partition, are cut into rows:
/// by an int64 feature of the record, or all into the same length.
struct ragged_partition {
  /// What the numbers of the feature are.
  enum kind : std::uint8_t {
    row_splits,          ///< where each row begins, and at last where the last one ends
    row_lengths,         ///< how long each row is
    row_starts,          ///< where each row begins; the first one at 0
    row_limits,          ///< where each row ends; the last one behind the last value
    value_row_ids,       ///< of each value the index of its row; no empty rows at the end
    uniform_row_length,  ///< no feature: all rows are `length` long
  };

  kind how = row_splits;
  std::string key = {};     ///< of the feature
  std::int64_t length = 0;  ///< for uniform_row_length, at least 1
};

/// Values in rows, and these in rows again, as the partitions say. Gives a ragged_tensor; of one
/// record without a partition by a feature, a tensor.
struct ragged_feature {
  dtype type = dtype::float32;
  /// Where the values are. None: under the feature's own name.
  std::optional<std::string> value_key = {};
  /// The outermost first. The finest ones, as far as they are of uniform_row_length, become
  /// dimensions of the values; each other one a level of rows.
  std::vector<ragged_partition> partitions = {};
  dtype row_splits_type = dtype::int32;  ///< or int64
};

/// One of them, by the name under which its result is found: of the others the key in the record
/// too.
using feature = std::variant<fixed_len_feature, var_len_feature, sparse_feature,
                             fixed_len_sequence_feature, ragged_feature>;
using feature_map = std::map<std::string, feature, std::less<>>;

/// What was read: a tensor, a sparse or a ragged one for each feature that was asked for.
///
/// A value type. Thread safety: thread-compatible.
class parsed_features {
 public:
  using value = std::variant<tensor, sparse_tensor, ragged_tensor>;
  using value_map = std::map<std::string, value, std::less<>>;

  parsed_features() noexcept = default;
  explicit parsed_features(value_map values) noexcept : values_(std::move(values)) {}

  /// Of a feature that gives a tensor, a sparse tensor or a ragged one.
  /// Errors: not_found; the message lists what there is.
  [[nodiscard]] const tensor& dense(std::string_view name) const;
  [[nodiscard]] const sparse_tensor& sparse(std::string_view name) const;
  [[nodiscard]] const ragged_tensor& ragged(std::string_view name) const;

  [[nodiscard]] const value_map& values() const noexcept { return values_; }

  /// All as components with names, as queues and batchers take them: a sparse tensor as three,
  /// NAME/indices, NAME/values and NAME/dense_shape; a ragged one as NAME/values and, for each
  /// level, NAME/row_splits/0 and so on. This is empty then.
  [[nodiscard]] tensor_tuple take() &&;

  friend bool operator==(const parsed_features&, const parsed_features&) noexcept = default;

 private:
  value_map values_;
};

}  // namespace leat
