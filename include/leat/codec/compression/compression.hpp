#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "leat/base/bytes.hpp"

namespace leat {

/// How the bytes of a file are compressed, as a whole.
enum class compression : std::uint8_t {
  none,  ///< as they are
  zlib,  ///< one deflate stream with the frame of RFC 1950
  gzip,  ///< one deflate stream after the other, each with the frame of RFC 1952
};

/// Its name as TensorFlow has it: "none", "ZLIB", "GZIP".
[[nodiscard]] std::string_view to_string(compression c) noexcept;

/// The compression of that name; "" means none as well.
/// Errors: invalid_argument for anything else, with what it may be.
/// TensorFlow: TFRecordOptions.get_compression_type_string; FixedLengthRecordReader's encoding,
///         where an unknown name is taken for none.
[[nodiscard]] compression parse_compression(std::string_view text);

/// So many bytes of a file, or all of a smaller one, tell all that detect_compression() can know.
inline constexpr std::size_t compression_sample_size = 4096;

/// What a file is compressed with that begins with these bytes.
///
/// gzip is recognised by its magic number and method, and zlib with a window of 32 KiB by its
/// header and the block that must follow: three bytes. A text that begins with "x^" can look like
/// that: who knows better says so. The header of a smaller window is one of "8O", "HK", "X" and a
/// tab, "hC" and others with which texts begin: it counts when all of compression_sample_size bytes
/// can be inflated, or a smaller file as a whole, with the right checksum. So a small file of that
/// kind that is cut off is taken for what is not compressed.
///
/// Errors: std::bad_alloc, for the header of a smaller window only.
[[nodiscard]] compression detect_compression(byte_view beginning);

/// True when more bytes, up to compression_sample_size, can change what detect_compression() says.
/// Errors: as detect_compression().
[[nodiscard]] bool needs_larger_sample(byte_view beginning);

/// The same for a TFRecord file, of which twelve bytes tell more: none when a record's header with
/// the right checksum stands there.
[[nodiscard]] compression detect_tfrecord_compression(byte_view beginning);

}  // namespace leat
