#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/tensor/tensor.hpp"

namespace leat {

/// All that a tf.train.Example or a tf.train.SequenceExample holds.
struct decoded_example {
  /// Of one feature: float32, int64 or string, [n]. None: it has no kind.
  using values = std::optional<tensor>;

  /// Of an Example; of a SequenceExample those of its context.
  std::map<std::string, values, std::less<>> features;
  /// Of a SequenceExample: of each list its steps.
  std::map<std::string, std::vector<values>, std::less<>> feature_lists;
  bool is_sequence = false;

  friend bool operator==(const decoded_example&, const decoded_example&) noexcept = default;
};

/// Reads a record of which one does not know what features it has; who knows takes an
/// example_parser.
///
/// Bytes are read as there. No byte is an Example without features.
///
/// Errors: decode_error for bytes that are neither message. std::bad_alloc.
/// Cost:   O(bytes); an allocation or two for each feature.
[[nodiscard]] decoded_example decode_example(byte_view record);

}  // namespace leat
