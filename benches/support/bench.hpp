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
#include <utility>
#include <vector>

#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

namespace bench {

/// The arguments of a program. Each process runs one workload and prints a line of
/// JSON for each result.
struct request {
  std::string workload;
  long items = 1'000'000;
  std::string file;
  bool cpu = false;  // measure CPU time instead of elapsed time
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

/// Keeps the calling thread, and the threads that it creates later, on one of the two processors
/// that a comparison uses. Where the kernel places two threads that hand over to each other changes
/// the result by a factor of 30. No effect if the process may use fewer than two.
inline void pin(std::size_t cpu) {
  static const cpu_set_t all = [] {
    cpu_set_t set;
    if (::sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
    return set;
  }();
  if (CPU_COUNT(&all) < 2) return;
  std::size_t id = 0;
  for (std::size_t skipped = 0;; ++id) {
    if (CPU_ISSET(id, &all) && skipped++ == cpu) break;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(id, &one);
  ::sched_setaffinity(0, sizeof one, &one);
}

/// Allows this process as many open files as the hard limit, for 1,000 connections and more.
inline void raise_descriptor_limit() {
  rlimit descriptors{};
  ::getrlimit(RLIMIT_NOFILE, &descriptors);
  descriptors.rlim_cur = descriptors.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &descriptors);
}

class stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Returns the CPU time of this process in seconds, of all threads and including the kernel.
inline double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Calls `run(r.items)` and returns the nanoseconds per item, of elapsed time or of CPU time. First
/// calls it with a tenth of the items to warm up.
template <class Run>
[[nodiscard]] double nanoseconds_each(const request& r, Run run) {
  run(r.items / 10);
  const double cpu_before = cpu_seconds();
  const stopwatch watch;
  run(r.items);
  const double seconds = r.cpu ? cpu_seconds() - cpu_before : watch.seconds();
  return seconds * 1e9 / static_cast<double>(r.items);
}

/// Returns the number after the last '-' in the name of the workload.
[[nodiscard]] inline long number_of(const request& r) {
  return std::atol(r.workload.substr(r.workload.rfind('-') + 1).c_str());
}

/// Durations, and their percentiles.
class latencies {
 public:
  /// The duration of a sleep whose lateness is measured.
  static constexpr std::chrono::microseconds sleep{500};

  explicit latencies(std::size_t wanted) : wanted_(wanted) { seconds_.reserve(wanted); }

  [[nodiscard]] std::size_t wanted() const noexcept { return wanted_; }
  void add(double seconds) { seconds_.push_back(seconds); }
  /// Adds the time that has passed since `due`.
  void add_since(std::chrono::steady_clock::time_point due) {
    add(std::chrono::duration<double>(std::chrono::steady_clock::now() - due).count());
  }

  /// Prints the median, the 99th and the 99.9th percentile, each as the result of a workload with
  /// the suffix -p50, -p99 or -p99.9.
  int report(const request& r, const char* subject);

 private:
  std::size_t wanted_;
  std::vector<double> seconds_;
};

/// Returns the time since the start of the machine in nanoseconds.
[[nodiscard]] inline long nanoseconds_now() {
  return static_cast<long>(std::chrono::steady_clock::now().time_since_epoch() /
                           std::chrono::nanoseconds(1));
}

/// Returns the seconds that have passed since `begin`, a result of nanoseconds_now().
[[nodiscard]] inline double seconds_since(long begin) {
  return static_cast<double>(nanoseconds_now() - begin) * 1e-9;
}

/// A producer of 10,000 items per second. It does not sleep between two items, so that its own
/// wake-up is not measured.
class pace {
 public:
  /// Waits for the time of the next item, and returns the time at which the wait ended.
  long wait() {
    next_ += 100'000;
    long now = nanoseconds_now();
    while (now < next_) now = nanoseconds_now();
    return now;
  }

 private:
  long next_ = nanoseconds_now();
};

/// Returns the duration of the sleep `i` of many: 20 to 420 ms, in a scattered order.
[[nodiscard]] inline std::chrono::microseconds sleep_of(long i) {
  const std::uint64_t scattered = static_cast<std::uint64_t>(i) * 0x9E37'79B9'7F4A'7C15U;
  return std::chrono::microseconds(20'000 + static_cast<long>((scattered >> 33U) % 400'000));
}

/// Returns `count` numbers below `size` in an order that is random and the same in each run. No
/// number repeats before all others have occurred.
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

/// Removes a file from the page cache.
inline void evict(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  if (file < 0) return;
  ::fsync(file);
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
}

/// Returns the number of bytes that malloc() has allocated to this process.
inline std::size_t heap_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Prints the result as JSON. `unit` is "ns/item", "GB/s" or "bytes/task", for example.
inline int report(const request& r, const char* subject, double value, const char* unit) {
  std::printf("{\"workload\": \"%s\", \"subject\": \"%s\", \"value\": %.4f, \"unit\": \"%s\"}\n",
              r.workload.c_str(), subject, value, unit);
  return 0;
}

inline int latencies::report(const request& r, const char* subject) {
  std::sort(seconds_.begin(), seconds_.end());
  for (const auto& [suffix, part] : {std::pair{"-p50", 0.5}, {"-p99", 0.99}, {"-p99.9", 0.999}}) {
    const auto at = static_cast<std::size_t>(static_cast<double>(seconds_.size()) * part);
    request percentile = r;
    percentile.workload += suffix;
    bench::report(percentile, subject, seconds_[std::min(at, seconds_.size() - 1)] * 1e6, "us");
  }
  return 0;
}

/// Ends the process without joining its tasks, some of which never end.
[[noreturn]] inline void leave() {
  std::fflush(stdout);
  std::_Exit(0);
}

/// Ends the process with an error, because the program does not have the workload.
[[noreturn]] inline void unknown(const request& r) {
  std::fprintf(stderr, "unknown workload '%s'\n", r.workload.c_str());
  std::exit(2);
}

}  // namespace bench
