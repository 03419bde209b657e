/// Writes a TFRecord file and reads it back. The file appears under its name only when it is
/// complete. The reader verifies every checksum and reports the position of corruption.

#include <cstdio>
#include <string>

#include <leat/leat.hpp>

namespace {

//! [write]
leat::task<> write(std::string path, int count) {
  auto writer = co_await leat::tfrecord_writer::open(path);
  for (int i = 0; i < count; ++i) {
    const std::string record = "record " + std::to_string(i);
    co_await writer.write(leat::as_bytes(record));
  }
  co_await writer.close();  // syncs the file, then renames it to its path
}
//! [/write]

//! [read]
leat::task<std::size_t> count(std::string path) {
  auto reader = co_await leat::tfrecord_reader::open(path);
  leat::record_batch batch;  // views of records that follow one another in memory
  std::size_t records = 0;
  while (co_await reader->read_batch(batch)) records += batch.size();
  co_return records;
}
//! [/read]

leat::task<> write_and_count(std::string path) {
  co_await write(path, 100'000);
  const std::size_t records = co_await count(path);
  std::printf("%zu records in %s\n", records, path.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: tfrecord FILE\n", stderr);
    return 2;
  }
  return leat::run(write_and_count(argv[1]));
}
