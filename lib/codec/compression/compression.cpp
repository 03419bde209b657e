#include "leat/codec/compression/compression.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "codec/compression/deflate_header.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/compression/inflater.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"

namespace leat {
namespace {

unsigned at(byte_view bytes, std::size_t index) noexcept {
  return std::to_integer<unsigned>(bytes[index]);
}

// A header without a dictionary, for a window of any size, and a block of a type that exists.
bool looks_like_zlib(byte_view bytes) noexcept {
  detail::deflate_header header;
  header.begin(compression::zlib);
  if (bytes.size() < 3 || header.feed(bytes[0]) != detail::deflate_header::status::more) {
    return false;
  }
  const bool block = (at(bytes, 2) & 6U) != 6U;
  return header.feed(bytes[1]) == detail::deflate_header::status::complete && block;
}

// The size of a window of 32 KiB, which nearly all writers of zlib use.
bool has_usual_window(byte_view bytes) noexcept { return at(bytes, 0) == 0x78; }

// Inflates the first bytes of a possible zlib stream. Returns `truncated` if nothing contradicts
// it.
inflate_status try_to_inflate(byte_view bytes) {
  byte_view in = bytes.first(std::min(bytes.size(), compression_sample_size));
  inflater trial(compression::zlib);
  std::array<std::byte, 1024> out;
  inflate_result r;
  do {
    r = trial.inflate(in, out);
    in = in.subspan(r.consumed);
  } while (r.status == inflate_status::output_full);
  return trial.finish().status;
}

// Data as long as a sample may be incomplete.
bool inflates_as_zlib(byte_view bytes) {
  const inflate_status end = try_to_inflate(bytes);
  return end == inflate_status::complete ||
         (end == inflate_status::truncated && bytes.size() >= compression_sample_size);
}

bool looks_like_gzip(byte_view bytes) noexcept {
  return bytes.size() >= 3 && at(bytes, 0) == 0x1f && at(bytes, 1) == 0x8b && at(bytes, 2) == 8;
}

}  // namespace

std::string_view to_string(compression c) noexcept {
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
    if (text == to_string(c)) return c;
  }
  throw failure(errc::invalid_argument, "unknown compression '" + std::string(text) +
                                            "': use none, ZLIB, GZIP or an empty string");
}

compression detect_compression(byte_view beginning) {
  if (looks_like_gzip(beginning)) return compression::gzip;
  if (!looks_like_zlib(beginning)) return compression::none;
  const bool zlib = has_usual_window(beginning) || inflates_as_zlib(beginning);
  return zlib ? compression::zlib : compression::none;
}

bool needs_larger_sample(byte_view beginning) {
  if (beginning.size() < 3) return true;
  return beginning.size() < compression_sample_size && looks_like_zlib(beginning) &&
         !has_usual_window(beginning) && try_to_inflate(beginning) == inflate_status::truncated;
}

compression detect_tfrecord_compression(byte_view beginning) {
  const bool is_record = beginning.size() >= tfrecord_header_size &&
                         find_tfrecord(beginning.first(tfrecord_header_size), UINT64_MAX) == 0U;
  return is_record ? compression::none : detect_compression(beginning);
}

}  // namespace leat
