#include "leat/codec/compression.hpp"

#include <string>

#include "leat/codec/tfrecord.hpp"
#include "leat/core/error.hpp"

namespace leat {
namespace {

unsigned at(byte_view bytes, std::size_t index) noexcept {
  return std::to_integer<unsigned>(bytes[index]);
}

// A header for a window of 32 KiB without a dictionary, and a block of a type that exists.
bool looks_like_zlib(byte_view bytes) noexcept {
  if (bytes.size() < 3 || at(bytes, 0) != 0x78) return false;
  const bool checks = (at(bytes, 0) * 256 + at(bytes, 1)) % 31 == 0;
  const bool dictionary = (at(bytes, 1) & 0x20U) != 0;
  const bool block = (at(bytes, 2) & 6U) != 6U;
  return checks && !dictionary && block;
}

bool looks_like_gzip(byte_view bytes) noexcept {
  return bytes.size() >= 3 && at(bytes, 0) == 0x1f && at(bytes, 1) == 0x8b && at(bytes, 2) == 8;
}

}  // namespace

std::string_view name(compression c) noexcept {
  switch (c) {
    case compression::none: return "none";
    case compression::zlib: return "ZLIB";
    case compression::gzip: return "GZIP";
  }
  return "?";
}

compression parse_compression(std::string_view text) {
  if (text.empty()) return compression::none;
  for (const auto c : {compression::none, compression::zlib, compression::gzip}) {
    if (text == name(c)) return c;
  }
  throw failure(errc::invalid_argument, "'" + std::string(text) +
                                            "' is no compression: it must be empty, none, ZLIB "
                                            "or GZIP");
}

compression detect_compression(byte_view beginning) noexcept {
  if (looks_like_gzip(beginning)) return compression::gzip;
  return looks_like_zlib(beginning) ? compression::zlib : compression::none;
}

compression detect_tfrecord_compression(byte_view beginning) noexcept {
  const bool is_record = beginning.size() >= tfrecord_header_size &&
                         find_tfrecord(beginning.first(tfrecord_header_size), UINT64_MAX) == 0U;
  return is_record ? compression::none : detect_compression(beginning);
}

}  // namespace leat
