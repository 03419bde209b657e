/// Writes a TFRecord file and reads it back. The file appears under its name only when it is
/// complete. The reader verifies every checksum and reports the position of corruption.

#include <cstdio>
#include <exception>
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: tfrecord FILE\n", stderr);
    return 2;
  }
  try {
    leat::sync_wait(write(argv[1], 100'000));
    std::printf("%zu records in %s\n", leat::sync_wait(count(argv[1])), argv[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tfrecord: %s\n", e.what());
    return 1;
  }
}
