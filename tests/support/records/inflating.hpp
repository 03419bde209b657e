#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "leat/codec/compression/decompressor.hpp"

namespace leat_test {

/// The result of inflating a whole stream.
struct inflated {
  leat::decompression_result result;  ///< complete, truncated, or the failure
  std::string text;
};

/// Inflates a stream in pieces of `piece` bytes into an output of `room` bytes at a time.
inline inflated inflate_all(leat::decompressor& decoder, std::string_view stream,
                            std::size_t piece = SIZE_MAX, std::size_t room = 4096) {
  inflated all;
  std::string out(room, '\0');
  const std::span<std::byte> to(reinterpret_cast<std::byte*>(out.data()), out.size());
  for (;;) {
    std::string_view in = stream.substr(0, piece);
    stream.remove_prefix(in.size());
    do {
      all.result = decoder.decompress(leat::as_bytes(in), to);
      in.remove_prefix(all.result.consumed);
      all.text.append(out, 0, all.result.produced);
      if (all.result.failed()) return all;
    } while (all.result.status == leat::decompression_status::output_full);
    if (stream.empty()) break;
  }
  all.result = decoder.finish();
  return all;
}

inline inflated inflate_all(leat::compression format, std::string_view stream,
                            std::size_t piece = SIZE_MAX, std::size_t room = 4096,
                            const leat::decompression_options& options = {}) {
  return inflate_all(*leat::make_decompressor(format, options), stream, piece, room);
}

}  // namespace leat_test
