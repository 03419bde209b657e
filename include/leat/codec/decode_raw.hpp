#pragma once

#include <bit>
#include <cstddef>
#include <optional>
#include <span>

#include "leat/base/bytes.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/tensor/tensor.hpp"

namespace leat {

/// How raw bytes are read.
struct raw_options {
  /// The order of the bytes of each number; of a complex one, of each of its two.
  std::endian order = std::endian::little;
  /// Bytes of each record, a multiple of a value's size: longer ones are cut, shorter ones filled
  /// up with zeros. None: all records have to be of the same size.
  std::optional<std::size_t> fixed_length = {};
};

/// Reads records as the memory of numbers: a tensor of [records.size(), values of each], a bool for
/// each byte that is not 0.
///
///     leat::tensor pixels = leat::decode_raw(images, leat::dtype::uint8);
///
/// Records without a byte give [records.size(), 0].
///
/// Thread safety: thread-compatible. Cost: O(bytes); one allocation.
/// Errors: decode_error for a record of another size than the first, or no multiple of a value's
///         size; invalid_argument for strings as the type, or a fixed_length that cannot be.
/// TensorFlow: tf.decode_raw. Otherwise than there: complex numbers keep their real part in front,
///         and a bool is one.
[[nodiscard]] tensor decode_raw(std::span<const byte_view> records, dtype type,
                                const raw_options& options = {});
/// The same of a tensor of strings: its shape, and one more dimension.
[[nodiscard]] tensor decode_raw(const tensor& records, dtype type, const raw_options& options = {});

}  // namespace leat
