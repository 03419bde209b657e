// Runs random pipelines on real threads for a given time, and accounts for every record, byte of
// memory, descriptor and thread: soak [--seconds N] [--seed N]

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "leat/async.hpp"
#include "leat/base/error.hpp"
#include "leat/io/backend/get_file_backend.hpp"
#include "soak/measure.hpp"
#include "soak/round.hpp"
#include "support/temp_dir.hpp"

namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t side_by_side = 2;      // concurrent rounds
constexpr auto longest_round = 120s;         // a longer round is a hang
constexpr double allowed_slope = 1 << 20;    // bytes an hour
constexpr std::size_t most_threads = 1 + 4;  // this thread and the file workers

double since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

bool has_ring() {
  try {
    return leat::block_on([]() -> leat::task<bool> {
      leat::scheduler& s = leat::this_task::get_scheduler();
      co_return leat::get_file_backend(s, leat::file_backend_choice::io_uring).name() == "io_uring";
    }());
  } catch (const leat::failure& e) {
    std::printf("io_uring is not available: %s\n", e.what());
    return false;
  }
}

// Several concurrent rounds, each on its own thread. A round that hangs ends the process.
class generation {
 public:
  void start(const soak::round_options& options) {
    std::filesystem::create_directory(options.directory);
    ++running_;
    threads_.emplace_back([this, options] {
      soak::counts c;
      std::exception_ptr error;
      try {
        c = soak::run_round(options);
      } catch (...) {
        error = std::current_exception();
      }
      std::filesystem::remove_all(options.directory);
      const std::lock_guard lock(mutex_);
      total_ += c;
      if (error && !error_) {
        error_ = error;
        failed_seed_ = options.seed;
      }
      --running_;
      ended_.notify_one();
    });
  }

  soak::counts join() {
    {
      std::unique_lock lock(mutex_);
      if (!ended_.wait_for(lock, longest_round, [this] { return running_ == 0; })) {
        std::cerr << "soak: a round hangs\n";
        leat::dump(std::cerr);
        std::abort();
      }
    }
    threads_.clear();
    if (error_) {
      std::fprintf(stderr, "soak: round %llu:\n", static_cast<unsigned long long>(failed_seed_));
      std::rethrow_exception(error_);
    }
    return total_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;
  soak::counts total_;
  std::exception_ptr error_;
  std::uint64_t failed_seed_ = 0;
  std::vector<std::jthread> threads_;
};

// Prints the slope of a measure in MiB an hour. Returns false if it is clearly above the limit,
// even after a tolerance of `wander` bytes in either direction.
bool report_slope(const char* what, const soak::course& measure, double seconds, double wander) {
  const soak::course::line fit = measure.fit();
  const double hour = 3600;
  const double mib = 1 << 20;
  const bool good = (fit.per_second - 4 * fit.error - wander / seconds) * hour < allowed_slope;
  std::printf("%-20s %+.3f MiB/h, standard error %.3f%s\n", what, fit.per_second * hour / mib,
              fit.error * hour / mib, good ? "" : ": IT GROWS");
  return good;
}

// Throws if a check fails. Returns false if memory grows.
bool soak_for(double seconds, std::uint64_t seed) {
  const temp_dir directory;
  const bool ring = has_ring();
  const double warm_up = std::min(seconds / 4, 60.0);
  std::size_t descriptors = 0;
  std::uint64_t rounds = 0;
  soak::counts total;
  soak::course resident(seconds - warm_up);
  soak::course heap(seconds - warm_up);
  soak::course rate(seconds - warm_up);  // records a second
  const auto begin = clock_type::now();
  double next_line = 10;
  for (std::uint64_t g = 0; since(begin) < seconds; ++g) {
    const double start = since(begin);
    generation rounds_now;
    for (std::size_t i = 0; i < side_by_side; ++i, ++rounds) {
      rounds_now.start({.seed = seed + rounds,
                        .backend = ring && (g + i) % 2 == 0 ? leat::file_backend_choice::io_uring
                                                            : leat::file_backend_choice::threads,
                        .directory = directory / std::to_string(i)});
    }
    const soak::counts c = rounds_now.join();
    total += c;

    const double now = since(begin);
    const std::size_t open = soak::open_descriptors();
    if (g == 0) descriptors = open;
    if (open != descriptors)
      throw leat::failure(leat::errc::internal, "descriptors were not closed");
    if (!soak::threads_fall_to(most_threads)) {
      throw leat::failure(leat::errc::internal, "threads were not joined");
    }
    const soak::memory_use memory = soak::measure_memory();
    if (start >= warm_up) {
      resident.add(start - warm_up, memory.resident);
      heap.add(start - warm_up, memory.heap);
      rate.add(start - warm_up, static_cast<double>(c.records) / (now - start));
    }
    if (now >= next_line) {
      next_line += 10;
      std::printf("%6.0f s  %8llu rounds  %10llu records  %6.1f MiB  heap %6.2f MiB  %zu fds\n",
                  now, static_cast<unsigned long long>(rounds),
                  static_cast<unsigned long long>(total.records), memory.resident / (1 << 20),
                  memory.heap / (1 << 20), open);
      std::fflush(stdout);
    }
  }
  std::printf(
      "%llu rounds, %llu records, all accounted for; %llu rounds stopped, %llu ended by an "
      "error;\ndamage met %llu times, %llu faults injected, %llu of them hard\n",
      static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(total.records),
      static_cast<unsigned long long>(total.stopped), static_cast<unsigned long long>(total.failed),
      static_cast<unsigned long long>(total.damaged),
      static_cast<unsigned long long>(total.injected), static_cast<unsigned long long>(total.hard));
  std::printf("descriptors          %zu between all rounds\n", descriptors);
  std::printf("throughput           %+.1f %% from the first quarter to the last\n",
              100 * rate.drift());
  // The heap caches memory for later threads, and this amount changes by some MiB from round to
  // round.
  const bool heap_is_good = report_slope("heap", heap, seconds, 0);
  const bool resident_is_good = report_slope("resident memory", resident, seconds, 4 << 20);
  return heap_is_good && resident_is_good;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 60;
  std::uint64_t seed = static_cast<std::uint64_t>(std::time(nullptr)) * 1'000'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (argv[i] == std::string_view("--seconds")) seconds = std::strtod(argv[i + 1], nullptr);
    if (argv[i] == std::string_view("--seed")) seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  std::printf("soak: %.0f seconds; replay: --seed %llu\n", seconds,
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  try {
    return soak_for(seconds, seed) ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "soak: %s\n", e.what());
    return 1;
  }
}
