#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "leat/core/dtype.hpp"
#include "leat/core/shape.hpp"
#include "leat/core/sparse_tensor.hpp"
#include "leat/core/tensor.hpp"
#include "leat/core/tensor_tuple.hpp"

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

/// One of them, by the name under which its result is found: of the others the key in the record
/// too.
using feature =
    std::variant<fixed_len_feature, var_len_feature, sparse_feature, fixed_len_sequence_feature>;
using feature_map = std::map<std::string, feature, std::less<>>;

/// What was read: a tensor or a sparse tensor for each feature that was asked for.
///
/// A value type. Thread safety: distinct-safe.
class parsed_features {
 public:
  using value = std::variant<tensor, sparse_tensor>;
  using value_map = std::map<std::string, value, std::less<>>;

  parsed_features() noexcept = default;
  explicit parsed_features(value_map values) noexcept : values_(std::move(values)) {}

  /// Of a feature that gives a tensor, or a sparse tensor.
  /// Errors: not_found; the message lists what there is.
  [[nodiscard]] const tensor& dense(std::string_view name) const;
  [[nodiscard]] const sparse_tensor& sparse(std::string_view name) const;

  [[nodiscard]] const value_map& values() const noexcept { return values_; }

  /// All as components with names, as queues and batchers take them: a sparse tensor as three,
  /// NAME/indices, NAME/values and NAME/dense_shape. This is empty then.
  [[nodiscard]] tensor_tuple take() &&;

  friend bool operator==(const parsed_features&, const parsed_features&) noexcept = default;

 private:
  value_map values_;
};

}  // namespace leat
