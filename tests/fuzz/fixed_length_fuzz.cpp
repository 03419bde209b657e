// Reads any bytes as a file of records of one size, in chunks of any size. The reader returns the
// records of the definition. The first five bytes select the options.

#include "leat/io/reader/fixed_length_reader.hpp"

#include <string>

#include "fuzz/in_memory.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 5) return 0;
  leat::fixed_length_reader_options options;
  options.record_size = data[0] + std::size_t{1};
  options.header_size = data[1];
  options.footer_size = data[2];
  options.hop_size = data[3];
  options.compression = leat::compression::none;
  options.read.chunk_size = leat_test::piece_size(data[4], size);
  const std::string file(reinterpret_cast<const char*>(data) + 5, size - 5);
  const auto found = leat_test::read_in_memory<leat::fixed_length_reader>(file, options);
  const auto expected = leat_test::slow_fixed_lengths(file, options);
  leat_test::require(leat_test::difference(found, expected).empty());
  return 0;
}
