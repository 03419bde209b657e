#pragma once

#include <span>
#include <string>

#include "leat/base/bytes.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/codec/compression/inflater.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/tensor/tensor.hpp"

namespace leat {

/// Inflates strings that are compressed one by one: a tensor of strings of the same shape.
///
///     leat::tensor plain = leat::decode_compressed(packed, leat::compression::zlib);
///
/// Compressed by name: leat::parse_compression("GZIP").
///
/// Thread safety: thread-compatible.
/// Errors: decode_error, data_loss for a string that is corrupt or cut off, resource_exhausted for
///         one above a limit; invalid_argument for a tensor that has no strings; std::bad_alloc.
/// TensorFlow: tf.decode_compressed. Otherwise than there: what is cut off is an error.
[[nodiscard]] tensor decode_compressed(const tensor& strings, compression type,
                                       const inflate_options& options = {});

/// The same of one string. Errors: as decode_compressed(), with the record 0.
[[nodiscard]] std::string decode_compressed(byte_view bytes, compression type,
                                            const inflate_options& options = {});

}  // namespace leat
