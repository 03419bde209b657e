// Reads files with plain system calls, one after another.
//
//   file/...     pread() of 256 KiB; in file/cold-direct of 1 MiB with O_DIRECT
//   fixed/...    fread() of 3,073 bytes, a record of CIFAR-10, with a buffer of 256 KiB
//   files/...    open(), fstat(), read(), close()

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/bench.hpp"
#include "support/page_cache.hpp"

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t read_file(const std::string& path, std::size_t chunk, int flags) {
  const int file = ::open(path.c_str(), O_RDONLY | flags);
  if (file < 0) std::abort();
  void* const buffer = std::aligned_alloc(huge_page, huge_page);
  ::madvise(buffer, huge_page, MADV_HUGEPAGE);
  std::size_t bytes = 0;
  for (ssize_t n = 1; n > 0; bytes += static_cast<std::size_t>(n)) {
    n = ::pread(file, buffer, chunk, static_cast<off_t>(bytes));
    if (n < 0) std::abort();
  }
  std::free(buffer);
  ::close(file);
  return bytes;
}

std::size_t fread_file(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rb");
  if (!file) std::abort();
  std::vector<char> buffer(256 << 10);
  std::setvbuf(file, buffer.data(), _IOFBF, buffer.size());
  char record[3073];
  std::size_t bytes = 0;
  while (const std::size_t n = std::fread(record, 1, sizeof record, file)) bytes += n;
  std::fclose(file);
  return bytes;
}

std::size_t read_files(const std::vector<std::string>& paths) {
  std::vector<char> buffer(128 << 10);
  std::size_t bytes = 0;
  for (const std::string& path : paths) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat s{};
    if (file < 0 || ::fstat(file, &s) != 0) std::abort();
    const auto size = static_cast<std::size_t>(s.st_size);
    if (buffer.size() < size) buffer.resize(size);
    for (std::size_t got = 0; got < size;) {
      const ssize_t n = ::read(file, buffer.data() + got, size - got);
      if (n <= 0) std::abort();
      got += static_cast<std::size_t>(n);
    }
    bytes += size;
    ::close(file);
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  const bool small = r.workload.starts_with("files/");
  const bool by_fread = r.workload.starts_with("fixed/");
  const char* const name = by_fread ? "fread" : small ? "open, fstat, read, close" : "pread loop";
  return bench::report_reading(r, name, [&] {
    if (by_fread) return fread_file(r.file);
    if (small) return read_files(bench::files_at(r.file));
    if (r.workload == "file/cold-direct") return read_file(r.file, 1 << 20, O_DIRECT);
    return read_file(r.file, 256 << 10, 0);
  });
}
