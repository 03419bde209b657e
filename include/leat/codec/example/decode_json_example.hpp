#pragma once

#include <string>
#include <string_view>

#include "leat/codec/decode_error.hpp"
#include "leat/tensor/tensor.hpp"

namespace leat {

/// Makes serialized tf.train.Example messages of their JSON text: a tensor of strings of the same
/// shape.
///
///     {"features": {"feature": {"age": {"int64List": {"value": [29]}},
///                               "name": {"bytesList": {"value": ["QW5u"]}}}}}
///
/// The text is that of protobuf's JSON mapping: names of fields in either spelling, bytes in base64
/// of either alphabet, numbers also as strings, null for what is not there. A field that an Example
/// has not is an error, and so is a name that stands twice in an object. Features stand in the
/// order of the text.
///
/// Thread safety: thread-compatible.
/// Errors: decode_error, which says what is wrong, for text that is no JSON with the byte, from 1;
///         invalid_argument for a tensor that has no strings; std::bad_alloc.
/// TensorFlow: tf.io.decode_json_example. Otherwise than there: strings in single quotes are no
/// JSON, and a name that stands twice in an object is refused.
[[nodiscard]] tensor decode_json_example(const tensor& texts);

/// The same of one text. Errors: as above, with the record 0.
[[nodiscard]] std::string decode_json_example(std::string_view text);

}  // namespace leat
