#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <leat/codec/example/decode_example.hpp>
#include <leat/tensor/dtype.hpp>

#include "terminal/output.hpp"

namespace tool {

/// Decodes a tf.train.Example or SequenceExample.
///
/// A message that contains Examples, such as tensorflow/ranking's ExampleListWithContext, can have
/// the bytes of an Example without values, whose names are serialized messages. This is an error.
///
/// Errors: leat::decode_error, if the record is neither.
[[nodiscard]] leat::decoded_example decode_example(std::string_view record);
/// Like decode_example(), but returns nothing if the record is neither.
[[nodiscard]] std::optional<leat::decoded_example> try_decode_example(std::string_view record);

/// "bytes", "float" or "int64"; of values also "empty".
[[nodiscard]] std::string_view kind_of(leat::dtype type) noexcept;
[[nodiscard]] std::string_view kind_of(const leat::decoded_example::values& v) noexcept;

/// Returns a line for each feature: name, kind, and at most `most` values, or `most` * 8 bytes.
[[nodiscard]] std::string to_text(const leat::decoded_example& e, std::size_t most);

/// {"features": {"age": {"int64": [42]}, "image": {"bytes": [{"base64": "/9j/"}]}}}, or
/// {"context": {...}, "feature_lists": {"words": [{"bytes": ["a"]}, ...]}}
[[nodiscard]] json to_json(const leat::decoded_example& e);

}  // namespace tool
