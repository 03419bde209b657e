// leat's readers through the public coroutine interface, with all checksums.
//
// tfrecord/hot-verified   the file is in the page cache; GB/s
// tfrecord/random-hot     the same, records in random order, about 1 MiB at a time; ns a record
// tfrecord/random-cold    none of it is in the page cache, no record twice, 1024 at a time
// lines/hot               text lines; GB/s

#include <algorithm>
#include <span>

#include <leat/leat.hpp>

#include "support/bench.hpp"

namespace {

leat::task<std::size_t> read_records(std::string path) {
  auto reader = co_await leat::tfrecord_reader::open(path);
  leat::record_batch batch;
  std::size_t bytes = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const leat::byte_view r : batch) bytes += r.size() + leat::tfrecord_overhead;
  }
  co_return bytes;
}

leat::task<std::size_t> read_lines(std::string path) {
  auto reader = co_await leat::line_reader::open(path);
  leat::line_batch batch;
  std::size_t bytes = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const std::string_view line : batch) bytes += line.size() + 1;
  }
  co_return bytes;
}

// Nanoseconds a record, without the opening of the file.
leat::task<double> read_at_random(bench::request r, bool cold) {
  const auto file = co_await leat::tfrecord_file::open(r.file);
  const auto order = bench::random_order(file->size(), static_cast<std::size_t>(r.items));
  const std::uint64_t mean = file->index().stamp().size / file->size();
  const std::size_t at_a_time = cold ? 1024 : std::clamp<std::size_t>((1 << 20) / mean, 1, 256);
  leat::record_selection selection;
  if (cold) bench::evict(r.file);
  const bench::stopwatch watch;
  for (std::span<const std::uint64_t> left = order; !left.empty();) {
    const auto some = left.first(std::min(left.size(), at_a_time));
    co_await file->read(some, selection);
    left = left.subspan(some.size());
  }
  co_return watch.seconds() * 1e9 / static_cast<double>(order.size());
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload.starts_with("tfrecord/random-")) {
    const bool cold = r.workload.starts_with("tfrecord/random-cold");
    if (!cold) leat::sync_wait(read_at_random(r, cold));
    return bench::report(r, "leat", leat::sync_wait(read_at_random(r, cold)), "ns/record");
  }
  const auto run = [&] {
    if (r.workload.starts_with("tfrecord/")) return leat::sync_wait(read_records(r.file));
    if (r.workload == "lines/hot") return leat::sync_wait(read_lines(r.file));
    bench::unknown(r);
  };
  run();
  const bench::stopwatch watch;
  const std::size_t bytes = run();
  return bench::report(r, "leat", static_cast<double>(bytes) / watch.seconds() / 1e9, "GB/s");
}
