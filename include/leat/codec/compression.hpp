#pragma once

#include <cstdint>
#include <string_view>

#include "leat/codec/bytes.hpp"

namespace leat {

/// How the bytes of a file are compressed, as a whole.
enum class compression : std::uint8_t {
  none,  ///< as they are
  zlib,  ///< one deflate stream with the frame of RFC 1950
  gzip,  ///< one deflate stream after the other, each with the frame of RFC 1952
};

/// Its name as TensorFlow has it: "none", "ZLIB", "GZIP".
[[nodiscard]] std::string_view name(compression c) noexcept;

/// The compression of that name; "" means none as well.
/// Errors: invalid_argument for anything else, with what it may be.
/// Source: TFRecordOptions.get_compression_type_string; FixedLengthRecordReader's encoding, where
///         an unknown name is taken for none.
[[nodiscard]] compression parse_compression(std::string_view text);

/// What a file is compressed with that begins with these bytes; three of them tell.
///
/// gzip is recognised by its magic number and method, zlib by a header as zlib writes it and the
/// block that must follow. A text that begins with "x^" can look like zlib: who knows better says
/// so.
[[nodiscard]] compression detect_compression(byte_view beginning) noexcept;

/// The same for a TFRecord file, of which twelve bytes tell more: none when a record's header with
/// the right checksum stands there.
[[nodiscard]] compression detect_tfrecord_compression(byte_view beginning) noexcept;

}  // namespace leat
