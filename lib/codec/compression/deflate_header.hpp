#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/codec/compression/compression.hpp"

namespace LEAT::detail {

/// Reads the header of a gzip member or of a zlib stream byte by byte, because it may be split
/// anywhere and its names have any length.
class deflate_header {
 public:
  enum class status : std::uint8_t { more, complete, bad, dictionary };

  void begin(compression format) noexcept {
    *this = deflate_header();
    format_ = format;
  }

  [[nodiscard]] status feed(std::byte b) noexcept;

 private:
  enum class field : std::uint8_t { fixed, extra_size, extra, name, comment, checksum };

  [[nodiscard]] status feed_zlib(unsigned value) noexcept;
  [[nodiscard]] status feed_gzip(unsigned value) noexcept;
  [[nodiscard]] status feed_fixed(unsigned value) noexcept;
  [[nodiscard]] status enter_field_after(field f) noexcept;

  compression format_ = compression::gzip;
  field field_ = field::fixed;
  unsigned flags_ = 0;
  unsigned index_ = 0;   // in the field
  unsigned number_ = 0;  // value of the field so far, little-endian
  std::uint32_t crc_ = 0;
};

}  // namespace LEAT::detail
