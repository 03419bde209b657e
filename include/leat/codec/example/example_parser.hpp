#pragma once

#include <span>
#include <string_view>

#include "leat/base/bytes.hpp"
#include "leat/base/detail/pimpl.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/codec/example/features.hpp"

namespace leat {

/// Makes tensors from serialized tf.train.Example messages.
///
///     using leat::dtype;
///     const leat::example_parser parser(
///         {{"image", leat::fixed_len_feature{.type = dtype::string}},
///          {"label", leat::fixed_len_feature{.type = dtype::int64}},
///          {"words", leat::var_len_feature{.type = dtype::string}}});
///     const leat::parsed_features all = parser.parse(records);
///     use(all.dense("image").strings(), all.sparse("words"));
///
/// A feature that is in the record without a kind is missing, as one that is not there; an empty
/// list of the right kind is a list of 0 values. Of a key that comes twice the last one counts.
/// Bytes are read as protobuf reads them: lists packed or not or both, entries of the map in any
/// order, unknown fields skipped.
///
/// Thread safety: thread-safe.
/// TensorFlow: tf.parse_example, tf.parse_single_example. Otherwise than there: indices of a sparse
/// feature are checked against its size; packed floats that are cut short are an error; no message
/// has the record in it.
class example_parser {
 public:
  /// Errors: invalid_argument, which names the feature: none at all; a type that an Example has
  ///         not; a shape that is not known; a default_value of another type or number; a sequence
  ///         without allow_missing; a sparse feature without keys, or with another number of sizes
  ///         than of index keys; a ragged feature with an empty key, another type of splits than
  ///         int32 and int64, or a length below 1; a key that is wanted of two types, or both dense
  ///         and sparse.
  explicit example_parser(feature_map features);
  example_parser(example_parser&&) noexcept;
  example_parser& operator=(example_parser&&) noexcept;
  ~example_parser();

  /// Of B records, with the dimensions of each feature as it stands in `features`:
  ///
  ///     fixed_len_feature           [B] + shape
  ///     var_len_feature             sparse; indices (record, position), [B, most values]
  ///     sparse_feature              sparse; indices (record, those of the record), [B] + size
  ///     fixed_len_sequence_feature  [B, most rows] + shape
  ///     ragged_feature              ragged; the rows of each record, then as its partitions say
  ///
  /// `names`: of the records, for messages; as many as records, or none.
  ///
  /// Errors: decode_error, for the first record that is wrong, with the feature: no message; a
  ///         value that is missing, of another kind or number; an index out of range; a partition
  ///         that does not fit the values. invalid_argument for another number of names than of
  ///         records, or more items than int32 splits can count. std::bad_alloc.
  /// Cost:   O(bytes); some allocations for all records together.
  [[nodiscard]] parsed_features parse(std::span<const byte_view> records,
                                      std::span<const std::string_view> names = {}) const;

  /// Of one record, the same without the dimension of the records; nothing is filled up:
  ///
  ///     fixed_len_feature           shape
  ///     var_len_feature             sparse; indices (position), [values]
  ///     sparse_feature              sparse; indices, size
  ///     fixed_len_sequence_feature  [rows] + shape
  ///     ragged_feature              ragged, as its partitions say; without any that has a key the
  ///                                 values, [n] or [n / lengths] + lengths
  [[nodiscard]] parsed_features parse_one(byte_view record, std::string_view name = {}) const;

 private:
  struct plan;
  detail::pimpl<const plan> plan_;
};

}  // namespace leat
