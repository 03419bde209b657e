#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/codec/example/example_options.hpp"
#include "leat/tensor/tensor.hpp"

namespace LEAT {

/// The complete contents of a tf.train.Example or a tf.train.SequenceExample.
struct decoded_example {
  /// The values of one feature: float32, int64 or string, of shape [n]. Empty if the feature has no
  /// kind.
  using values = std::optional<tensor>;

  /// The features of an Example, or the context of a SequenceExample.
  std::map<std::string, values, std::less<>> features;
  /// The steps of each list of a SequenceExample.
  std::map<std::string, std::vector<values>, std::less<>> feature_lists;
  /// True for a SequenceExample, false for an Example.
  bool is_sequence = false;

  friend bool operator==(const decoded_example&, const decoded_example&) noexcept = default;
};

/// Decodes a record with unknown features. If you know the features, use an example_parser.
///
/// The wire format is read as in example_parser. An empty record is an Example without features.
///
/// Errors: decode_error for bytes that are neither message. std::bad_alloc.
/// Cost:   O(bytes); one or two allocations for each feature.
[[nodiscard]] decoded_example decode_example(byte_view record, example_options options = {});

}  // namespace LEAT
