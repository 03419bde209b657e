// Reads any bytes as a file of each format, compressed with zlib, intact and with one damage. The
// readers return the records that the definition finds in the inflated bytes, and they report every
// damage. The first six bytes select the options.

#include <algorithm>
#include <optional>
#include <string>

#include "fuzz/in_memory.hpp"
#include "fuzz/tfrecord_mutator.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "support/records/inflating.hpp"
#include "support/records/zlib_oracle.hpp"

namespace {

using leat::compression;
using leat_test::read_outcome;
using leat_test::require;

constexpr std::size_t prefix = 6;

struct how {
  compression format = compression::gzip;
  bool detected = false;
  std::size_t chunk_size = 1;
  std::uint64_t skip = 0;
  leat::fixed_length_reader_options lengths = {};
};

// Deflates each piece of the text as a part of the stream that can be inflated separately.
std::string deflated(compression format, std::string_view text, std::size_t piece, int level) {
  const int window = format == compression::gzip ? leat_test::gzip_window : leat_test::zlib_window;
  leat_test::zlib_deflater deflater({.window_bits = window, .level = level});
  std::string stream;
  for (; text.size() > piece; text.remove_prefix(piece)) {
    stream += deflater.add(text.substr(0, piece), Z_FULL_FLUSH);
  }
  return stream + deflater.add(text, Z_FINISH);
}

template <class Reader>
read_outcome read(const std::string& stream, const how& h, typename Reader::options_type options) {
  options.read.chunk_size = h.chunk_size;
  options.compression = h.format;
  if (h.detected) options.compression = std::nullopt;
  return leat_test::read_in_memory<Reader>(stream, options);
}

read_outcome read(int kind, const std::string& stream, const how& h) {
  switch (kind) {
    case 0: return read<leat::tfrecord_reader>(stream, h, {});
    case 1: return read<leat::line_reader>(stream, h, {.skip_header_lines = h.skip});
    case 2: return read<leat::fixed_length_reader>(stream, h, h.lengths);
    default: return read<leat::whole_file_reader>(stream, h, {});
  }
}

read_outcome by_definition(int kind, std::string_view text, bool whole, const how& h) {
  switch (kind) {
    case 0: return leat_test::slow_tfrecords(text, whole);
    case 1: return leat_test::slow_lines(text, h.skip, whole);
    case 2: return leat_test::slow_fixed_lengths(text, h.lengths, whole);
    default: return leat_test::slow_whole_file(text, whole);
  }
}

// How many wrong bytes precede the error depends on the size of the buffers. Both readers end with
// an error, and no record with its own checksum is wrong.
bool both_fail(const read_outcome& a, const read_outcome& b, bool checked) {
  const auto count = static_cast<std::ptrdiff_t>(std::min(a.records.size(), b.records.size()));
  return !a.error.empty() && !b.error.empty() &&
         (!checked || std::equal(a.records.begin(), a.records.begin() + count, b.records.begin()));
}

void check_damaged(int kind, const std::string& plain, const std::string& stream, how h) {
  h.detected = false;  // it could be detected as a plain file
  const auto all = leat_test::inflate_all(h.format, stream);
  const bool whole = all.result.status == leat::decompression_status::complete;
  require(!whole || all.text == plain);
  const read_outcome found = read(kind, stream, h);
  // A file of 0 bytes is empty with every compression.
  const read_outcome expected = by_definition(kind, all.text, whole || stream.empty(), h);
  const bool checked = kind == 0 || kind == 3;  // by itself, or delivered only when it is whole
  const bool wrong_data =
      all.result.failed() && all.result.status != leat::decompression_status::truncated;
  require(leat_test::difference(found, expected).empty() ||
          (wrong_data && both_fail(found, expected, checked)));
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return leat_test::mutate_tfrecords(data, size, max_size, seed, prefix);
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < prefix) return 0;
  const int kind = data[0] % 4;
  how h;
  h.format = (data[0] & 4U) != 0 ? compression::gzip : compression::zlib;
  h.detected = (data[0] & 8U) != 0;
  h.chunk_size = leat_test::piece_size(std::size_t{data[1]} * data[1], size);
  h.skip = data[2] % 8;
  h.lengths.record_size = data[2] % 16 + std::size_t{1};
  h.lengths.header_size = data[2] / 16;
  const std::string plain(reinterpret_cast<const char*>(data) + prefix, size - prefix);
  const std::string stream =
      deflated(h.format, plain, leat_test::piece_size(data[3], size), (data[0] / 16) % 10);
  const read_outcome expected = by_definition(kind, plain, true, h);
  require(leat_test::difference(read(kind, stream, h), expected).empty());

  const std::size_t at = (std::size_t{data[4]} << 8 | data[5]) % stream.size();
  check_damaged(kind, plain, stream.substr(0, at), h);
  std::string damaged = stream;
  damaged[at] = static_cast<char>(damaged[at] ^ (1 << data[3] % 8));
  check_damaged(kind, plain, damaged, h);
  return 0;
}
