// std::getline, and memchr() after read() or after zlib's gzread(): the peers of lines/... in
// leat_record_bench.

#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <zlib.h>

#include "support/bench.hpp"
#include "support/page_cache.hpp"

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

// `read` fills a buffer and returns the number of bytes read.
template <class Read>
std::size_t with_memchr(Read read) {
  std::vector<char> buffer(256 << 10);
  std::size_t kept = 0;
  std::size_t bytes = 0;
  for (;;) {
    const std::ptrdiff_t n = read(buffer.data() + kept, buffer.size() - kept);
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
  return bytes;
}

std::size_t with_read(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  const std::size_t bytes =
      with_memchr([file](char* to, std::size_t size) { return ::read(file, to, size); });
  ::close(file);
  return bytes;
}

std::size_t with_gzread(const std::string& path) {
  const gzFile file = ::gzopen(path.c_str(), "rb");
  ::gzbuffer(file, 256 << 10);
  const std::size_t bytes = with_memchr([file](char* to, std::size_t size) {
    return ::gzread(file, to, static_cast<unsigned>(size));
  });
  ::gzclose(file);
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload == "lines/gzip") {
    return bench::report_reading(r, "gzread and memchr", [&] { return with_gzread(r.file); });
  }
  if (r.workload == "lines/hot/memchr") {
    return bench::report_reading(r, "read and memchr", [&] { return with_read(r.file); });
  }
  return bench::report_reading(r, "std::getline, 1 MiB", [&] { return with_getline(r.file); });
}
