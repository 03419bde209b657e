#pragma once

#include <string>
#include <string_view>

#include "leat/codec/decode_error.hpp"
#include "leat/tensor/tensor.hpp"

namespace LEAT {

/// Converts the JSON text of tf.train.Example messages to serialized messages. Returns a tensor of
/// strings with the shape of `texts`.
///
///     {"features": {"feature": {"age": {"int64List": {"value": [29]}},
///                               "name": {"bytesList": {"value": ["QW5u"]}}}}}
///
/// The text follows protobuf's JSON mapping: field names in either spelling, bytes in base64 of
/// either alphabet, numbers also as strings, and null for an absent value. The message contains the
/// features in the order of the text. A field that an Example does not have is an error, and so is
/// a name that occurs twice in an object.
///
/// Thread safety: thread-compatible.
/// Errors: decode_error with the reason, and with the byte, from 1, if the text is not JSON;
///         invalid_argument, if `texts` is not a tensor of strings; std::bad_alloc.
/// TensorFlow: tf.io.decode_json_example. Differs from TensorFlow: strings in single quotes and a
/// name that occurs twice in an object are errors.
[[nodiscard]] tensor decode_json_example(const tensor& texts);

/// Converts one text. Returns the serialized message.
///
/// Errors: as above; the record of a decode_error is 0.
[[nodiscard]] std::string decode_json_example(std::string_view text);

}  // namespace LEAT
