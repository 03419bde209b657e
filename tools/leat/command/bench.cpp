// leat bench io: measures how fast this machine reads a file.

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <memory>
#include <numeric>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <leat/async/loop/block_on.hpp>
#include <leat/async/task_group.hpp>
#include <leat/async/this_task.hpp>
#include <leat/base/error.hpp>
#include <leat/base/random.hpp>
#include <leat/io/file/file.hpp>

#include "command/commands.hpp"
#include "leat/io/backend/get_file_backend.hpp"
#include "report/ring_probe.hpp"
#include "terminal/numbers.hpp"
#include "terminal/option_types.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

using steady_clock = std::chrono::steady_clock;

struct bench_options {
  std::string path;
  double seconds = 1;
};

// A way to read.
struct pattern {
  leat::file_backend_choice backend = leat::file_backend_choice::threads;
  bool random = false;
  bool cached = false;
  std::size_t block = 0;
  std::size_t depth = 1;
};

struct measurement {
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  double median_us = 0;  // of a read
  double slow_us = 0;    // 99th percentile
};

// The order of the blocks: each one once, then again from the start.
class blocks {
 public:
  blocks(std::uint64_t size, const pattern& how)
      : order_(std::max<std::uint64_t>(size / how.block, 1)) {
    std::iota(order_.begin(), order_.end(), 0);
    leat::random_engine random(1);
    for (std::size_t i = order_.size(); how.random && i > 1; --i) {
      std::swap(order_[i - 1], order_[static_cast<std::size_t>(random.uniform_below(i))]);
    }
  }

  [[nodiscard]] std::uint64_t next() noexcept { return order_[next_++ % order_.size()]; }
  /// Returns true if all blocks have been read once.
  [[nodiscard]] bool finished() const noexcept { return next_ >= order_.size(); }

 private:
  std::vector<std::uint64_t> order_;
  std::size_t next_ = 0;
};

struct bench_run {
  leat::file& file;
  const pattern& how;
  blocks order;
  steady_clock::time_point end;
  std::vector<float> microseconds;
  std::uint64_t bytes = 0;
};

leat::task<> read_blocks(bench_run& r) {
  std::vector<std::byte> buffer(r.how.block);
  // A block that was read is cached, so a second read would measure the cache.
  while (steady_clock::now() < r.end && (r.how.cached || !r.order.finished())) {
    const auto begin = steady_clock::now();
    r.bytes += co_await r.file.read_at(r.order.next() * r.how.block, buffer);
    const std::chrono::duration<float, std::micro> lasted = steady_clock::now() - begin;
    r.microseconds.push_back(lasted.count());
    co_await leat::this_task::yield();
  }
}

void evict(const std::string& path) {
  const int f = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (f < 0) return;
  ::fdatasync(f);
  ::posix_fadvise(f, 0, 0, POSIX_FADV_DONTNEED);
  ::close(f);
}

double percentile(std::vector<float>& all, double part) {
  if (all.empty()) return 0;
  const auto at = static_cast<std::size_t>(part * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at), all.end());
  return static_cast<double>(all[at]);
}

leat::task<> require_measurable(std::string path, std::size_t block) {
  const leat::file_status there = co_await leat::get_status(path);
  if (there.is_regular && there.size >= block) co_return;
  throw usage_error(fmt::format("{}: not a regular file of at least {}: choose another file", path,
                                size_text(block)));
}

leat::task<measurement> measure(const bench_options& options, const pattern& how) {
  // The first backend of a scheduler remains its backend.
  leat::scheduler& here = leat::this_task::get_scheduler();
  static_cast<void>(leat::get_file_backend(here, how.backend));
  if (!how.cached) evict(options.path);
  leat::file file = co_await leat::file::open(options.path);
  const auto begin = steady_clock::now();
  const auto lasting = std::chrono::duration_cast<steady_clock::duration>(
      std::chrono::duration<double>(options.seconds));
  bench_run r{file, how, blocks(file.status().size, how), begin + lasting, {}, 0};
  leat::task_group readers("readers");
  for (std::size_t i = 0; i < how.depth; ++i) readers.spawn(read_blocks(r));
  co_await readers.join();
  const std::chrono::duration<double> lasted = steady_clock::now() - begin;
  measurement m;
  m.reads = r.microseconds.size();
  m.bytes = r.bytes;
  m.seconds = lasted.count();
  m.median_us = percentile(r.microseconds, 0.5);
  m.slow_us = percentile(r.microseconds, 0.99);
  co_return m;
}

// Reads the whole file once to cache as much of it as the memory allows.
leat::task<> warm_up(std::string path) {
  leat::file file = co_await leat::file::open(std::move(path));
  const std::uint64_t size = file.status().size;
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  for (std::uint64_t at = 0; at < size; at += buffer.size()) co_await file.read_at(at, buffer);
}

std::vector<pattern> patterns(leat::file_backend_choice backend) {
  constexpr std::size_t page = 4096;
  constexpr std::size_t chunk = std::size_t{256} << 10;
  std::vector<pattern> all;
  for (const bool cached : {false, true}) {
    for (const std::size_t depth : {1U, 4U, 16U}) {
      all.push_back({backend, false, cached, chunk, depth});
    }
    for (const std::size_t depth : {1U, 16U, 64U}) {
      all.push_back({backend, true, cached, page, depth});
    }
  }
  return all;
}

const char* name_of(leat::file_backend_choice backend) {
  return backend == leat::file_backend_choice::io_uring ? "io_uring" : "threads";
}

void print(const pattern& how, const measurement& m, program& p) {
  const double seconds = std::max(m.seconds, 1e-9);
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(m.bytes) / seconds);
  const double reads = static_cast<double>(m.reads) / seconds;
  if (p.json) {
    const json line{{"backend", name_of(how.backend)},
                    {"order", how.random ? "random" : "sequential"},
                    {"cached", how.cached},
                    {"block", how.block},
                    {"depth", how.depth},
                    {"reads", m.reads},
                    {"seconds", m.seconds},
                    {"bytes_per_second", rate},
                    {"reads_per_second", reads},
                    {"p50_us", m.median_us},
                    {"p99_us", m.slow_us}};
    p.out.write_line(line);
  } else {
    p.out.write(fmt::format(
        "{:<8} {:<10} {:<6} {:>9} x{:<3} {:>12}/s {:>10.0f}/s {:>9.1f} {:>9.1f}\n",
        name_of(how.backend), how.random ? "random" : "sequential", how.cached ? "cached" : "cold",
        size_text(how.block), how.depth, size_text(rate), reads, m.median_us, m.slow_us));
  }
  p.out.flush();
}

void run_bench(const bench_options& options, program& p) {
  // Checked first, because opening a pipe waits for a writer.
  leat::block_on(require_measurable(options.path, std::size_t{256} << 10));
  if (!p.json) {
    backend_in_use();  // selects the backend
    p.out.write("leat reads through " + leat::file_backend_reason() + "\n\n");
    p.out.write(fmt::format("{:<8} {:<10} {:<6} {:>9} {:<4} {:>14} {:>12} {:>9} {:>9}\n", "backend",
                            "order", "data", "block", "depth", "bytes", "reads", "p50 us",
                            "p99 us"));
  }
  for (const auto backend :
       {leat::file_backend_choice::io_uring, leat::file_backend_choice::threads}) {
    try {
      bool warm = false;
      for (const pattern& how : patterns(backend)) {
        if (how.cached && !std::exchange(warm, true)) leat::block_on(warm_up(options.path));
        print(how, leat::block_on(measure(options, how)), p);
      }
    } catch (const leat::failure& e) {
      if (e.code() != leat::errc::unavailable) throw;
      print_error(e.what());  // no io_uring; continue with threads
    }
  }
}

}  // namespace

void add_bench(CLI::App& app, program& p) {
  CLI::App* bench = app.add_subcommand("bench", "Measure this machine");
  bench->fallthrough();
  bench->require_subcommand(1);
  CLI::App* command =
      add_command(*bench, p, "io", "Read a file in several ways and print the speed of each");
  const auto options = std::make_shared<bench_options>();
  as_path(command->add_option("FILE", options->path, "A large file, which is only read"))
      ->required()
      ->type_name("");
  as_real(command->add_option("--seconds", options->seconds,
                              "Measure each way for N seconds (default: 1)"),
          0.001, 86400)
      ->type_name("N");
  command->callback([options, &p] { p.run = [options, &p] { run_bench(*options, p); }; });
}

}  // namespace tool
