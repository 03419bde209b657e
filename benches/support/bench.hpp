#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <malloc.h>

namespace bench {

/// What one run measures: a process runs one workload and prints one line of JSON.
struct request {
  std::string workload;
  long items = 1'000'000;
  std::string file;
};

/// Reads `--workload NAME --items N --file PATH`.
inline request parse(int argc, char** argv) {
  request r;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--workload") r.workload = argv[i + 1];
    if (option == "--items") r.items = std::atol(argv[i + 1]);
    if (option == "--file") r.file = argv[i + 1];
  }
  return r;
}

class stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Bytes that the process has from the allocator.
inline std::size_t heap_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Prints the result: `value` in `unit`, such as "ns/item", "GB/s", "bytes/task".
inline int report(const request& r, const char* subject, double value, const char* unit) {
  std::printf("{\"workload\": \"%s\", \"subject\": \"%s\", \"value\": %.4f, \"unit\": \"%s\"}\n",
              r.workload.c_str(), subject, value, unit);
  return 0;
}

[[noreturn]] inline void unknown(const request& r) {
  std::fprintf(stderr, "no such workload: '%s'\n", r.workload.c_str());
  std::exit(2);
}

}  // namespace bench
