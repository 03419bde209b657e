#pragma once

#include <span>
#include <string>

#include "leat/base/bytes.hpp"
#include "leat/codec/compression/compression.hpp"
#include "leat/codec/compression/decompressor.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/tensor/tensor.hpp"

namespace LEAT {

/// Decompresses strings that are compressed one by one. Returns a tensor of strings with the same
/// shape.
///
///     leat::tensor plain = leat::decode_compressed(packed, leat::compression::zlib);
///
/// To select the compression by name, use leat::parse_compression("GZIP").
///
/// Thread safety: thread-compatible.
/// Errors:        decode_error, with data_loss for a corrupt or truncated string and
///                resource_exhausted for a string above a limit; invalid_argument for a tensor that
///                does not contain strings; std::bad_alloc.
/// TensorFlow:    tf.decode_compressed. Differs from TensorFlow: a truncated string is an error.
[[nodiscard]] tensor decode_compressed(const tensor& strings, compression type,
                                       const decompression_options& options = {});

/// Decompresses a single string.
/// Errors: as for a tensor, with the record 0.
[[nodiscard]] std::string decode_compressed(byte_view bytes, compression type,
                                            const decompression_options& options = {});

}  // namespace LEAT
