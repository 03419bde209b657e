#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "leat/base/bytes.hpp"

namespace LEAT {

/// The compression of a file as a whole.
enum class compression : std::uint8_t {
  none,  ///< not compressed
  zlib,  ///< one deflate stream with the frame of RFC 1950
  gzip,  ///< consecutive deflate streams, each with the frame of RFC 1952
};

/// A compression other than none.
struct compression_format {
  compression type = compression::none;  ///< the compression
  std::string_view name;                 ///< the name that TensorFlow uses, such as "GZIP"
  /// The extensions of file names, such as ".gz". Writers use the first one; a second one may be
  /// empty.
  std::array<std::string_view, 2> extensions;
};

/// Returns all compressions other than none, in the order of their declaration.
[[nodiscard]] std::span<const compression_format> compression_formats() noexcept;

/// Returns the name that TensorFlow uses: "none", "ZLIB" or "GZIP".
[[nodiscard]] std::string_view to_string(compression c) noexcept;

/// Returns the compression with this name; an empty name also means none.
/// Errors:     invalid_argument for any other text; the message lists the valid names.
/// TensorFlow: TFRecordOptions.get_compression_type_string; FixedLengthRecordReader's encoding,
///             which treats an unknown name as none.
[[nodiscard]] compression parse_compression(std::string_view text);

/// Maximum number of bytes from the beginning of a file that detect_compression() uses. Pass all
/// bytes of a smaller file.
inline constexpr std::size_t compression_sample_size = 4096;

/// Returns the compression of a file that begins with these bytes.
///
/// gzip is recognised by its magic number and method. zlib with a window of 32 KiB is recognised by
/// three bytes: the header and the beginning of the block that must follow. A text that begins with
/// "x^" can look the same; if you know the compression, specify it instead.
///
/// The header of a smaller window is also the beginning of many texts: "8O", "HK", "X" and a tab,
/// "hC" and others. It counts only if all compression_sample_size bytes can be inflated, or a
/// smaller file as a whole with the right checksum. A small file of this kind that is truncated is
/// therefore detected as not compressed.
///
/// Errors: std::bad_alloc, only for the header of a smaller window.
[[nodiscard]] compression detect_compression(byte_view beginning);

/// Returns true if more bytes, up to compression_sample_size, can change the result of
/// detect_compression().
/// Errors: those of detect_compression().
[[nodiscard]] bool needs_larger_sample(byte_view beginning);

/// Like detect_compression(), but for a TFRecord file. Returns none if the first twelve bytes are
/// the header of a record with the right checksum.
[[nodiscard]] compression detect_tfrecord_compression(byte_view beginning);

}  // namespace LEAT
