#pragma once

#include <span>
#include <string_view>

#include "leat/base/bytes.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/codec/example/example_options.hpp"
#include "leat/codec/example/features.hpp"

namespace LEAT {

/// Parses serialized tf.train.Example messages into tensors.
///
///     using leat::dtype;
///     const leat::example_parser parser(
///         {{"image", leat::fixed_len_feature{.type = dtype::string}},
///          {"label", leat::fixed_len_feature{.type = dtype::int64}},
///          {"words", leat::var_len_feature{.type = dtype::string}}});
///     const leat::parsed_features all = parser.parse(records);
///     use(all.dense("image").strings(), all.sparse("words"));
///
/// A feature is missing if the record does not contain it or if it is present without a kind. An
/// empty list of the right kind is a list of 0 values. If a key occurs more than once in a record,
/// the last occurrence counts. The wire format is read as protobuf reads it: lists may be packed,
/// unpacked or both, map entries may be in any order, and unknown fields are skipped. As in
/// protobuf, a record with a name that is not UTF-8 is an error, even if the feature is not
/// requested, unless example_options::check_utf8 is false.
///
/// Thread safety: thread-safe.
/// TensorFlow: tf.parse_example, tf.parse_single_example. Differs from TensorFlow: the indices of a
/// sparse feature are checked against its size; truncated packed floats are an error, as are names
/// that are not UTF-8; no error message contains the record.
class example_parser {
 public:
  /// Creates a parser for `features`.
  ///
  /// Errors: invalid_argument, with the name of the feature, in these cases:
  ///
  /// - `features` is empty (without a name);
  /// - a type other than float32, int64 and string;
  /// - a shape that is not fully known;
  /// - a default_value of another type or with another number of values;
  /// - a fixed_len_sequence_feature without allow_missing, or with rows of 0 values;
  /// - a sparse_feature without keys, with a negative size, or with another number of sizes than
  ///   index keys;
  /// - a ragged_feature with an empty key, a row_splits_type other than int32 and int64, or a
  ///   length below 1;
  /// - a key that two features request with different types, or both as dense and as sparse;
  /// - a key that is not UTF-8, unless `options.check_utf8` is false.
  explicit example_parser(feature_map features, example_options options = {});
  example_parser(example_parser&&) noexcept;
  example_parser& operator=(example_parser&&) noexcept;
  ~example_parser();

  /// Parses B records. Returns one value for each feature, with these dimensions:
  ///
  ///     fixed_len_feature           [B] + shape
  ///     var_len_feature             sparse; indices (record, position), [B, most values]
  ///     sparse_feature              sparse; indices (record, indices in the record), [B] + size
  ///     fixed_len_sequence_feature  [B, most rows] + shape
  ///     ragged_feature              ragged; the rows of each record, then those of its partitions
  ///
  /// `names` are the names of the records for error messages: one for each record, or empty.
  ///
  /// Errors: decode_error, for the first record with an error. The message names the feature. The
  ///         record is not an Example; a value is missing, of another kind or of another number;
  ///         an index is out of range; or a partition does not fit the values. Also
  ///         invalid_argument, if the numbers of names and of records differ, or if there are
  ///         more items than int32 splits can count. Also std::bad_alloc.
  /// Cost:   O(bytes); a few allocations for all records together.
  [[nodiscard]] parsed_features parse(std::span<const byte_view> records,
                                      std::span<const std::string_view> names = {}) const;

  /// Parses one record. Returns the same values as parse(), but without the record dimension.
  /// Nothing is padded:
  ///
  ///     fixed_len_feature           shape
  ///     var_len_feature             sparse; indices (position), [values]
  ///     sparse_feature              sparse; indices, size
  ///     fixed_len_sequence_feature  [rows] + shape
  ///     ragged_feature              ragged, as its partitions specify; the values alone, [n] or
  ///                                 [n / lengths] + lengths, if no partition has a key
  [[nodiscard]] parsed_features parse_one(byte_view record, std::string_view name = {}) const;

 private:
  struct plan;
  detail::pimpl<const plan> plan_;
};

}  // namespace LEAT
