#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

namespace bench {

/// What one run measures: a process runs one workload and prints one line of JSON.
struct request {
  std::string workload;
  long items = 1'000'000;
  std::string file;
  bool cpu = false;  // asks for the processor's time
};

/// Reads `--workload NAME --items N --file PATH --measure time|cpu`.
inline request parse(int argc, char** argv) {
  request r;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--workload") r.workload = argv[i + 1];
    if (option == "--items") r.items = std::atol(argv[i + 1]);
    if (option == "--file") r.file = argv[i + 1];
    if (option == "--measure") r.cpu = std::string_view(argv[i + 1]) == "cpu";
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

/// Seconds of the processor that this process has used, in all threads, the kernel's included.
inline double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Nanoseconds that each item takes in `run(count)`, which is run shortly before; of the
/// processor's time where that is asked for.
template <class Run>
[[nodiscard]] double nanoseconds_each(const request& r, Run run) {
  run(r.items / 10);
  const double cpu_before = cpu_seconds();
  const stopwatch watch;
  run(r.items);
  const double seconds = r.cpu ? cpu_seconds() - cpu_before : watch.seconds();
  return seconds * 1e9 / static_cast<double>(r.items);
}

/// The number in which the name of a workload ends, behind a minus.
[[nodiscard]] inline long number_of(const request& r) {
  return std::atol(r.workload.substr(r.workload.rfind('-') + 1).c_str());
}

/// Seconds that many rounds took each, of which one asks for a percentile.
class latencies {
 public:
  explicit latencies(std::size_t wanted) : wanted_(wanted) { seconds_.reserve(wanted); }

  [[nodiscard]] std::size_t wanted() const noexcept { return wanted_; }
  void add(double seconds) { seconds_.push_back(seconds); }

  /// That of a workload whose name ends in "-pN".
  [[nodiscard]] double of(const std::string& workload) {
    const auto percent =
        static_cast<std::size_t>(std::atol(workload.substr(workload.rfind("-p") + 2).c_str()));
    std::sort(seconds_.begin(), seconds_.end());
    return seconds_[std::min(seconds_.size() * percent / 100, seconds_.size() - 1)];
  }

 private:
  std::size_t wanted_;
  std::vector<double> seconds_;
};

/// `count` numbers below `size` in random order, the same in each run; none comes again before all
/// others have come.
inline std::vector<std::uint64_t> random_order(std::uint64_t size, std::size_t count) {
  std::vector<std::uint64_t> order(count);
  std::vector<std::uint64_t> all(size);
  std::iota(all.begin(), all.end(), 0);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i % all.size();
    std::swap(all[at], all[at + random() % (all.size() - at)]);
    order[i] = all[at];
  }
  return order;
}

/// Takes a file out of the page cache.
inline void evict(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  if (file < 0) return;
  ::fsync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

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
