#pragma once

#include <span>
#include <string_view>

#include "leat/base/bytes.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/codec/example/example_options.hpp"
#include "leat/codec/example/features.hpp"

namespace LEAT {

/// The result of parsing SequenceExamples.
///
/// A value type. Thread safety: thread-compatible.
struct parsed_sequences {
  /// The results of the features of the context.
  parsed_features context;
  /// The results of the feature lists.
  parsed_features sequences;
  /// The number of steps of each record, for each fixed_len_sequence_feature of `sequences`, under
  /// the same name. Type int64; shape [B] for a batch, a scalar for one record.
  parsed_features lengths;

  friend bool operator==(const parsed_sequences&, const parsed_sequences&) noexcept = default;
};

/// Parses serialized tf.train.SequenceExample messages into tensors. A message has a context, which
/// is a set of features of the whole record, and lists of features with one feature for each step
/// of a sequence.
///
///     const leat::sequence_example_parser parser(
///         {{"id", leat::fixed_len_feature{.type = dtype::int64}}},
///         {{"frames", leat::fixed_len_sequence_feature{.type = dtype::float32, .shape = {64}}}});
///     const leat::parsed_sequences all = parser.parse(records);
///     use(all.sequences.dense("frames"), all.lengths.dense("frames"));
///
/// The rules of example_parser for missing features, repeated keys, names that are not UTF-8, and
/// the wire format apply here too.
///
/// Thread safety: thread-safe.
/// TensorFlow: tf.io.parse_sequence_example, tf.io.parse_single_sequence_example. Differs from
/// TensorFlow: a context feature without a kind gets its default value.
class sequence_example_parser {
 public:
  /// Creates a parser. `sequences` may contain fixed_len_sequence_feature and var_len_feature. The
  /// list of a fixed_len_sequence_feature may be missing only if its allow_missing is true.
  ///
  /// Errors: invalid_argument, with the name of the feature: as in example_parser; no feature in
  ///         either map; a type of feature that `sequences` does not accept.
  sequence_example_parser(feature_map context, feature_map sequences, example_options options = {});
  sequence_example_parser(sequence_example_parser&&) noexcept;
  sequence_example_parser& operator=(sequence_example_parser&&) noexcept;
  ~sequence_example_parser();

  /// Parses B records. The context is parsed as in example_parser::parse(); the sequences have
  /// these dimensions:
  ///
  ///     fixed_len_sequence_feature  [B, most steps] + shape, padded
  ///     var_len_feature             sparse; indices (record, step, position),
  ///                                 [B, most steps, most values of a step]
  ///
  /// `names`, errors and cost are those of example_parser::parse(). The message of an error in a
  /// step also names the step.
  [[nodiscard]] parsed_sequences parse(std::span<const byte_view> records,
                                       std::span<const std::string_view> names = {}) const;

  /// Parses one record. Returns the same values as parse(), but without the record dimension.
  /// Nothing is padded.
  [[nodiscard]] parsed_sequences parse_one(byte_view record, std::string_view name = {}) const;

 private:
  struct plan;
  detail::pimpl<const plan> plan_;
};

}  // namespace LEAT
