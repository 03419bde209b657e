#pragma once

#include <bit>
#include <cstddef>
#include <optional>
#include <span>

#include "leat/base/bytes.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/tensor/tensor.hpp"

namespace LEAT {

/// Options of decode_raw().
struct raw_options {
  /// The byte order of each number; for a complex number, of each of its two parts.
  std::endian order = std::endian::little;
  /// The number of bytes of each record, a multiple of the size of a value. Longer records are
  /// truncated, and shorter ones are padded with zeros. If not set, all records must have the same
  /// size.
  std::optional<std::size_t> fixed_length = {};
};

/// Decodes records as the memory of numbers. Returns a tensor of shape [records.size(), values in
/// each record]. For dtype::boolean, every byte is a value: true if the byte is not 0.
///
///     leat::tensor pixels = leat::decode_raw(images, leat::dtype::uint8);
///
/// If the records are empty and fixed_length is not set, the shape is [records.size(), 0].
///
/// Errors: decode_error, if fixed_length is not set and a record differs in size from the first one
///         or its size is not a multiple of the size of a value. Also invalid_argument, if the
///         type is string, or if fixed_length is 0 or not a multiple of the size of a value.
/// Thread safety: thread-compatible.
/// Cost: O(bytes); one allocation.
/// TensorFlow: tf.decode_raw. Differs from TensorFlow: the real part of a complex number stays
/// first in both byte orders, and every bool is a valid one.
[[nodiscard]] tensor decode_raw(std::span<const byte_view> records, dtype type,
                                const raw_options& options = {});
/// Overload for a tensor of strings. The result has the shape of `records` and one more dimension.
[[nodiscard]] tensor decode_raw(const tensor& records, dtype type, const raw_options& options = {});

}  // namespace LEAT
