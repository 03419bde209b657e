// Writes any records with any options. The file has the bytes of the definition, and the reader
// returns the records. The second half of a plain file may be appended. The first five bytes select
// the options.

#include "leat/io/writer/tfrecord_writer.hpp"

#include <string>
#include <vector>

#include "fuzz/in_memory.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/writer/tfrecord_appender.hpp"
#include "support/records/record_bytes.hpp"

namespace {

using leat::compression;
using leat::task;
using leat_test::require;
using texts = std::vector<std::string>;

// Splits the bytes into records that each follow a length of one byte. The rest is the last record.
texts split(std::string_view bytes) {
  texts all;
  while (!bytes.empty()) {
    const auto length = static_cast<unsigned char>(bytes[0]);
    all.emplace_back(bytes.substr(1, length));
    bytes.remove_prefix(std::min<std::size_t>(bytes.size(), length + std::size_t{1}));
  }
  return all;
}

struct how {
  leat::tfrecord_writer_options options = {};
  std::size_t flush_each = 1;
  std::size_t chunk_size = 1;
  bool appends = false;
};

template <class Writer>
task<> write_all(Writer& writer, const texts& records, std::size_t begin, std::size_t end,
                 std::size_t flush_each) {
  for (std::size_t i = begin; i < end; ++i) {
    co_await writer.write(leat::as_bytes(records[i]));
    if (i % flush_each == 0) co_await writer.flush();
  }
  require(writer.records_written() == end - begin);
  co_await writer.close();
}

task<> write_and_read(const texts& records, const how& h) {
  const std::size_t half = h.appends ? records.size() / 2 : records.size();
  auto writer = co_await leat::tfrecord_writer::open("/f", h.options);
  co_await write_all(writer, records, 0, half, h.flush_each);
  if (h.appends) {
    auto appender =
        co_await leat::tfrecord_appender::open("/f", {.buffer_size = h.options.buffer_size});
    require(appender.original_record_count() == half);
    co_await write_all(appender, records, half, records.size(), h.flush_each);
  }
  leat::tfrecord_reader_options options;
  options.compression = std::nullopt;
  options.read.chunk_size = h.chunk_size;
  const auto found = co_await leat_test::read_outcome_of<leat::tfrecord_reader>("/f", options);
  require(
      leat_test::difference(found, leat_test::slow_tfrecords(leat_test::framed(records))).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size < 5) return 0;
  how h;
  h.options.compression = static_cast<compression>(data[0] % 3);
  h.options.deflate.level = data[0] / 3 % 11 - 1;
  h.options.deflate.strategy = static_cast<leat::deflate_strategy>(data[0] / 33 % 5);
  h.options.flush_mode = static_cast<leat::deflate_flush>(data[1] % 3);
  h.options.buffer_size = data[2] + size / 50;
  h.options.output_buffer_size = leat::deflater::smallest_output + data[3] + size / 50;
  h.flush_each = leat_test::piece_size(data[1] / 3 % 8, size);
  h.chunk_size = leat_test::piece_size(std::size_t{data[4]} * data[4], size);
  h.appends = h.options.compression == compression::none && data[1] / 24 % 2 == 1;
  const texts records = split({reinterpret_cast<const char*>(data) + 5, size - 5});
  leat::sim::world w(1);
  w.run([&](leat::sim::world&) { return write_and_read(records, h); });
  const std::string file = w.files().read_file("/f").value();
  require(leat_test::plain_of(h.options.compression, file) == leat_test::framed(records));
  require(w.files().files().size() == 1);
  return 0;
}
