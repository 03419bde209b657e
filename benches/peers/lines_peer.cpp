// std::getline, and a read loop with memchr; the workload of leat_record_bench's lines/hot.

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "support/bench.hpp"

namespace {

std::size_t with_getline(const std::string& path) {
  std::vector<char> buffer(1 << 20);
  std::ifstream in;
  in.rdbuf()->pubsetbuf(buffer.data(), static_cast<std::streamsize>(buffer.size()));
  in.open(path);
  std::string line;
  std::size_t bytes = 0;
  while (std::getline(in, line)) bytes += line.size() + 1;
  return bytes;
}

std::size_t with_memchr(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  std::vector<char> buffer(256 << 10);
  std::size_t kept = 0;
  std::size_t bytes = 0;
  for (;;) {
    const ssize_t n = ::read(file, buffer.data() + kept, buffer.size() - kept);
    if (n <= 0) break;
    const char* at = buffer.data();
    const char* const end = at + kept + n;
    while (const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
      const char* const line_end = static_cast<const char*>(found);
      bytes += static_cast<std::size_t>(line_end - at) + 1;
      at = line_end + 1;
    }
    kept = static_cast<std::size_t>(end - at);
    std::memmove(buffer.data(), at, kept);
  }
  ::close(file);
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  bench::request r = bench::parse(argc, argv);
  const bool memchr = r.workload == "lines/hot/memchr";
  r.workload = "lines/hot";
  const auto run = [&] { return memchr ? with_memchr(r.file) : with_getline(r.file); };
  run();
  const bench::stopwatch watch;
  const std::size_t bytes = run();
  return bench::report(r, memchr ? "read + memchr" : "std::getline, 1 MiB",
                       static_cast<double>(bytes) / watch.seconds() / 1e9, "GB/s");
}
