// Makes the files that the benches read, the same ones each time:
//   bench_data tfrecord FILE BYTES RECORD_SIZE
//   bench_data text FILE BYTES                  lines of 40 to 120 bytes

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include <leat/leat.hpp>

namespace {

leat::task<> write_records(std::string path, std::size_t bytes, std::size_t size) {
  leat::random_engine random(1);
  std::string payload(size, ' ');
  auto writer = co_await leat::tfrecord_writer::open(path);
  while (writer.bytes_written() < bytes) {
    for (char& c : payload) c = static_cast<char>(random());
    co_await writer.write(leat::as_bytes(payload));
  }
  co_await writer.close();
}

void write_lines(const std::string& path, std::size_t bytes) {
  leat::random_engine random(1);
  std::ofstream out(path);
  for (std::size_t written = 0; written < bytes;) {
    std::string line(40 + random.below(81), ' ');
    for (char& c : line) c = static_cast<char>('a' + random.below(26));
    line += '\n';
    out << line;
    written += line.size();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::strcmp(argv[1], "tfrecord") == 0) {
    leat::sync_wait(write_records(argv[2], std::strtoull(argv[3], nullptr, 10),
                                  std::strtoull(argv[4], nullptr, 10)));
    return 0;
  }
  if (argc == 4 && std::strcmp(argv[1], "text") == 0) {
    write_lines(argv[2], std::strtoull(argv[3], nullptr, 10));
    return 0;
  }
  return 2;
}
