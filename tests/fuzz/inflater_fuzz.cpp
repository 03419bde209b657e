// Inflates any bytes as a zlib or gzip stream, in pieces, and compares with zlib. The first two
// bytes select the options. In every other input the bytes are raw deflate data, and the target
// adds a valid header and trailer.

#include "leat/codec/compression/decompressor.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "support/records/inflating.hpp"
#include "support/records/zlib_oracle.hpp"

namespace {

using leat::compression;
using status = leat::decompression_status;

// Limits of the output and of the number of buffers. Without them, calls for one byte each would
// take most of the time.
constexpr std::size_t max_output = 1 << 16;
constexpr std::size_t max_rooms = 1 << 10;

void require(bool holds) {
  if (!holds) std::abort();
}

std::string little_endian(uLong value) {
  std::string bytes(4, '\0');
  leat::store_little_endian(reinterpret_cast<std::byte*>(bytes.data()),
                            static_cast<std::uint32_t>(value));
  return bytes;
}

std::string big_endian(uLong value) {
  const std::string bytes = little_endian(value);
  return {bytes.rbegin(), bytes.rend()};
}

uLong checksum_of(compression format, const std::string& text) {
  const auto* const data = reinterpret_cast<const Bytef*>(text.data());
  const auto size = static_cast<uInt>(text.size());
  return format == compression::gzip ? ::crc32(0, data, size) : ::adler32(1, data, size);
}

std::string trailer_of(compression format, const std::string& text) {
  const uLong sum = checksum_of(format, text);
  return format == compression::gzip ? little_endian(sum) + little_endian(text.size())
                                     : big_endian(sum);
}

// Adds a header and a trailer to raw deflate data. Returns the bytes unchanged if zlib does not
// read them to the end.
std::string framed(compression format, const std::string& bytes) {
  const auto raw = leat_test::zlib_inflate(bytes, leat_test::raw_window, max_output);
  if (raw.status != Z_STREAM_END) return bytes;
  const std::string header = format == compression::gzip
                                 ? std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10)
                                 : std::string("\x78\x9c");
  return header + bytes.substr(0, raw.consumed) + trailer_of(format, raw.text);
}

// Passes exactly one member, because zlib reads only one.
void check_against_zlib(compression format, const std::string& stream, std::size_t piece,
                        std::size_t room, std::size_t limit) {
  const int window = format == compression::gzip ? leat_test::gzip_window : leat_test::zlib_window;
  const auto oracle = leat_test::zlib_inflate(stream, window, limit);
  if (oracle.status == Z_OK) return;  // the output reaches the limit
  const auto inflater = leat::make_decompressor(format, {.max_output = limit});
  const auto got =
      leat_test::inflate_all(*inflater, stream.substr(0, oracle.consumed), piece, room);
  if (oracle.status == Z_STREAM_END) {
    require(got.result.status == status::complete && got.text == oracle.text);
    return;
  }
  require(oracle.status != Z_NEED_DICT || got.result.status == status::dictionary);
  require(oracle.status != Z_BUF_ERROR || got.result.status != status::complete);
  // ISA-L accepts incomplete codes, and zlib does not. In that case the checksum must be valid.
  const std::string trailer = trailer_of(format, got.text);
  require(got.result.status != status::complete || inflater->members() > 1 ||
          stream.substr(0, oracle.consumed).find(trailer) != std::string::npos);
}

// The size of the pieces has no effect on the result, with one exception: a stream above the limit
// that is damaged directly after it may fail with either error.
void check_in_pieces(compression format, const std::string& stream, std::size_t piece,
                     std::size_t room, std::size_t limit) {
  const leat::decompression_options options{.max_output = limit};
  const auto whole = leat_test::inflate_all(format, stream, SIZE_MAX, limit, options);
  const auto pieces = leat_test::inflate_all(format, stream, piece, room, options);
  const bool above =
      whole.result.status == status::too_large || pieces.result.status == status::too_large;
  require(above ? whole.result.failed() && pieces.result.failed()
                : whole.result.status == pieces.result.status);
  require(leat::describe(whole.result) != "?");
  require(!whole.result.failed() || leat::code_of(whole.result.status) != leat::errc());
  require(whole.result.failed() || whole.text == pieces.text);
  require(whole.result.offset <= stream.size() && pieces.result.offset <= stream.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 2) return 0;
  const auto format = (data[0] & 1U) != 0 ? compression::gzip : compression::zlib;
  const std::size_t piece = (data[0] >> 2U) + 1;
  const std::size_t room = std::size_t{data[1]} * data[1] + 1;
  std::string stream(reinterpret_cast<const char*>(data) + 2, size - 2);
  if ((data[0] & 2U) != 0) stream = framed(format, stream);
  const std::size_t limit = std::min(max_output, max_rooms * room);
  check_against_zlib(format, stream, piece, room, limit);
  check_in_pieces(format, stream, piece, room, limit);
  return 0;
}
