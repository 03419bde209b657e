#pragma once

#include <span>
#include <string_view>

#include "leat/base/bytes.hpp"
#include "leat/base/detail/pimpl.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/codec/example/features.hpp"

namespace leat {

/// What was read of SequenceExamples.
///
/// A value type. Thread safety: thread-compatible.
struct parsed_sequences {
  parsed_features context;
  parsed_features sequences;
  /// Of a batch: int64 [B] for each fixed_len_sequence_feature of `sequences`, by the same name:
  /// how many steps each record had. Of one record: int64 scalars.
  parsed_features lengths;

  friend bool operator==(const parsed_sequences&, const parsed_sequences&) noexcept = default;
};

/// Makes tensors from serialized tf.train.SequenceExample messages: features of a whole record, its
/// context, and lists of features, one for each step of a sequence.
///
///     const leat::sequence_example_parser parser(
///         {{"id", leat::fixed_len_feature{.type = dtype::int64}}},
///         {{"frames", leat::fixed_len_sequence_feature{.type = dtype::float32, .shape = {64}}}});
///     const leat::parsed_sequences all = parser.parse(records);
///     use(all.sequences.dense("frames"), all.lengths.dense("frames"));
///
/// What holds for an example_parser holds here too.
///
/// Thread safety: thread-safe.
/// TensorFlow: tf.io.parse_sequence_example, tf.io.parse_single_sequence_example. Otherwise than
/// there: a context feature without a kind takes its default here too.
class sequence_example_parser {
 public:
  /// `sequences`: fixed_len_sequence_feature, of which a list may be missing only where it says
  /// so, and var_len_feature.
  ///
  /// Errors: invalid_argument, which names the feature: as an example_parser; no feature at all;
  ///         one that a sequence has not.
  sequence_example_parser(feature_map context, feature_map sequences);
  sequence_example_parser(sequence_example_parser&&) noexcept;
  sequence_example_parser& operator=(sequence_example_parser&&) noexcept;
  ~sequence_example_parser();

  /// Of B records; the context as example_parser::parse(), and of the sequences
  ///
  ///     fixed_len_sequence_feature  [B, most steps] + shape, filled up
  ///     var_len_feature             sparse; indices (record, step, position),
  ///                                 [B, most steps, most values of a step]
  ///
  /// Errors, names, cost: as example_parser::parse(); errors name the step too.
  [[nodiscard]] parsed_sequences parse(std::span<const byte_view> records,
                                       std::span<const std::string_view> names = {}) const;

  /// Of one record, the same without the dimension of the records; nothing is filled up.
  [[nodiscard]] parsed_sequences parse_one(byte_view record, std::string_view name = {}) const;

 private:
  struct plan;
  detail::pimpl<const plan> plan_;
};

}  // namespace leat
