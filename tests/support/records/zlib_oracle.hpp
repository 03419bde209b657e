#pragma once

// zlib as the reference for comparison.

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

#include <zlib.h>

namespace leat_test {

/// Window bits for zlib's functions. The number that is added selects the header.
inline constexpr int zlib_window = 15;
inline constexpr int gzip_window = 15 + 16;
inline constexpr int raw_window = -15;

/// The compression parameters of zlib.
struct zlib_options {
  int window_bits = gzip_window;
  int level = 6;
  int mem_level = 8;
  int strategy = Z_DEFAULT_STRATEGY;
  gz_header* header = nullptr;
};

/// Compresses texts with zlib in pieces.
class zlib_deflater {
 public:
  explicit zlib_deflater(const zlib_options& o = {}) {
    if (::deflateInit2(&stream_, o.level, Z_DEFLATED, o.window_bits, o.mem_level, o.strategy) !=
        Z_OK) {
      throw std::runtime_error("deflateInit2");
    }
    if (o.header) ::deflateSetHeader(&stream_, o.header);
  }
  zlib_deflater(const zlib_deflater&) = delete;
  zlib_deflater& operator=(const zlib_deflater&) = delete;
  ~zlib_deflater() { ::deflateEnd(&stream_); }

  z_stream& stream() noexcept { return stream_; }

  /// Returns the output for `text` with this flush.
  std::string add(std::string_view text, int flush) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    std::string out;
    char buffer[4096];
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof buffer;
      ::deflate(&stream_, flush);
      out.append(buffer, sizeof buffer - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return out;
  }

 private:
  z_stream stream_{};
};

inline std::string zlib_deflated(std::string_view text, const zlib_options& o = {}) {
  return zlib_deflater(o).add(text, Z_FINISH);
}

/// The result of inflating one gzip member or zlib stream with zlib.
struct zlib_inflated {
  int status = Z_OK;  ///< Z_STREAM_END, Z_BUF_ERROR for a stream that is cut off, Z_DATA_ERROR, ...
  std::string text;
  std::size_t consumed = 0;
};

/// Inflates at most `most` bytes. If the output is longer, the status is Z_OK.
inline zlib_inflated zlib_inflate(std::string_view bytes, int window_bits,
                                  std::size_t most = SIZE_MAX) {
  z_stream stream{};
  if (::inflateInit2(&stream, window_bits) != Z_OK) throw std::runtime_error("inflateInit2");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  zlib_inflated result;
  char buffer[4096];
  do {
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    const std::size_t room = std::min(sizeof buffer, most - result.text.size());
    stream.avail_out = static_cast<uInt>(room);
    result.status = ::inflate(&stream, Z_NO_FLUSH);
    result.text.append(buffer, room - stream.avail_out);
  } while (result.status == Z_OK && result.text.size() < most);
  result.consumed = bytes.size() - stream.avail_in;
  ::inflateEnd(&stream);
  return result;
}

}  // namespace leat_test
