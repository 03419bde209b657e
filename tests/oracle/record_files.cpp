// Reads or writes a file of records, for a comparison with another program.
//
//     record_files read FORMAT FILE     prints a line for each record, in hexadecimal
//     record_files write FORMAT FILE    reads such lines from standard input

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "leat/async/loop/block_on.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "support/records/record_bytes.hpp"

namespace {

void print(leat::byte_view record) {
  for (const std::byte b : record) std::printf("%02x", std::to_integer<unsigned>(b));
  std::printf("\n");
}

int read(leat::compression format, const char* path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const auto plain = leat_test::plain_of(format, bytes);
  if (!plain) return 1;
  std::vector<leat::byte_view> records;
  const auto scan = leat::scan_tfrecords(leat::as_bytes(*plain), records, SIZE_MAX, SIZE_MAX);
  for (const leat::byte_view r : records) print(r);
  return scan.consumed == plain->size() ? 0 : 1;
}

leat::task<> write(leat::compression format, std::string path) {
  const leat::tfrecord_writer_options options{.compression = format};
  auto writer = co_await leat::tfrecord_writer::open(std::move(path), options);
  for (std::string line; std::getline(std::cin, line);) {
    std::string record;
    for (std::size_t i = 0; i + 1 < line.size(); i += 2) {
      record += static_cast<char>(std::stoi(line.substr(i, 2), nullptr, 16));
    }
    co_await writer.write(leat::as_bytes(record));
  }
  co_await writer.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    const leat::compression format = leat::parse_compression(argv[2]);
    if (std::string(argv[1]) == "read") return read(format, argv[3]);
    leat::block_on(write(format, argv[3]));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "record_files: %s\n", e.what());
    return 1;
  }
}
