#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "leat/codec/compression/inflater.hpp"

namespace leat_test {

/// The result of inflating a whole stream.
struct inflated {
  leat::inflate_result result;  ///< complete, truncated, or the failure
  std::string text;
};

/// Inflates a stream in pieces of `piece` bytes into an output of `room` bytes at a time.
inline inflated inflate_all(leat::inflater& inflater, std::string_view stream,
                            std::size_t piece = SIZE_MAX, std::size_t room = 4096) {
  inflated all;
  std::string out(room, '\0');
  const std::span<std::byte> to(reinterpret_cast<std::byte*>(out.data()), out.size());
  for (;;) {
    std::string_view in = stream.substr(0, piece);
    stream.remove_prefix(in.size());
    do {
      all.result = inflater.inflate(leat::as_bytes(in), to);
      in.remove_prefix(all.result.consumed);
      all.text.append(out, 0, all.result.produced);
      if (all.result.failed()) return all;
    } while (all.result.status == leat::inflate_status::output_full);
    if (stream.empty()) break;
  }
  all.result = inflater.finish();
  return all;
}

inline inflated inflate_all(leat::compression format, std::string_view stream,
                            std::size_t piece = SIZE_MAX, std::size_t room = 4096,
                            const leat::inflate_options& options = {}) {
  leat::inflater inflater(format, options);
  return inflate_all(inflater, stream, piece, room);
}

}  // namespace leat_test
