// leat's readers. They verify all checksums, except in hot-unverified.
//
// tfrecord/hot-verified    a file in the page cache; GB/s
// tfrecord/hot-unverified  a file in the page cache, without checksums; GB/s
// tfrecord/cold            a file that is not cached; GB/s
// tfrecord/cold-direct     a file that is not cached, with direct I/O; GB/s
// tfrecord/random-hot      records in random order, cached, about 1 MiB per call; ns/record
// tfrecord/random-cold     records in random order, not cached, each once, 1024 per call; ns/record
// tfrecord/random-cold-at  like random-cold, by 64 tasks that read one record per call; ns/record
// fixed/hot                records of 3,073 bytes in the page cache; GB/s
// lines/hot                lines in the page cache; GB/s
// lines/gzip               lines of a gzip file in the page cache; GB of text per second

#include <algorithm>
#include <cstdlib>
#include <span>

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/page_cache.hpp"

namespace {

leat::task<std::size_t> read_records(std::string path, leat::tfrecord_reader_options options) {
  auto reader = co_await leat::tfrecord_reader::open(path, options);
  leat::record_batch batch;
  std::size_t bytes = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const leat::byte_view r : batch) bytes += r.size() + leat::tfrecord_overhead;
  }
  co_return bytes;
}

leat::task<std::size_t> read_fixed(std::string path) {
  auto reader = co_await leat::fixed_length_reader::open(path, {.record_size = 3073});
  leat::record_batch batch;
  std::size_t bytes = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const leat::byte_view r : batch) bytes += r.size();
  }
  co_return bytes;
}

leat::task<std::size_t> read_lines(std::string path, leat::compression type) {
  auto reader = co_await leat::line_reader::open(path, {.compression = type});
  leat::line_batch batch;
  std::size_t bytes = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const std::string_view line : batch) bytes += line.size() + 1;
  }
  co_return bytes;
}

// Returns nanoseconds per record. The open of the file is not measured.
leat::task<double> read_at_random(bench::request r, bool cold) {
  const auto file = co_await leat::tfrecord_file::open(r.file);
  const auto order = bench::random_order(file->size(), static_cast<std::size_t>(r.items));
  const std::uint64_t mean = file->index().fingerprint().size / file->size();
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

leat::task<> read_one_by_one(leat::tfrecord_file& file, std::span<const std::uint64_t>& left) {
  while (!left.empty()) {
    const std::uint64_t i = left.front();
    left = left.subspan(1);
    const leat::owned_record record = co_await file.at(i);
    if (record.payload().empty()) std::abort();
  }
}

leat::task<double> read_by_tasks(bench::request r) {
  constexpr int tasks = 64;
  const auto file = co_await leat::tfrecord_file::open(r.file);
  const auto order = bench::random_order(file->size(), static_cast<std::size_t>(r.items));
  std::span<const std::uint64_t> left = order;
  bench::evict(r.file);
  const bench::stopwatch watch;
  leat::task_group group;
  for (int i = 0; i < tasks; ++i) group.spawn(read_one_by_one(*file, left));
  co_await group.join();
  co_return watch.seconds() * 1e9 / static_cast<double>(order.size());
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  if (r.workload.starts_with("tfrecord/random-cold-at/")) {
    return bench::report(r, "leat", leat::block_on(read_by_tasks(r)), "ns/record");
  }
  if (r.workload.starts_with("tfrecord/random-")) {
    const bool cold = r.workload.starts_with("tfrecord/random-cold");
    if (!cold) leat::block_on(read_at_random(r, cold));
    return bench::report(r, "leat", leat::block_on(read_at_random(r, cold)), "ns/record");
  }
  leat::tfrecord_reader_options records;
  if (r.workload.starts_with("tfrecord/hot-unverified/")) {
    records.checks = leat::tfrecord_checks::none;
  }
  if (r.workload.starts_with("tfrecord/cold-direct/")) {
    records.read = {.direct = true};
  }
  return bench::report_reading(r, "leat", [&] {
    if (r.workload.starts_with("tfrecord/")) return leat::block_on(read_records(r.file, records));
    if (r.workload == "fixed/hot") return leat::block_on(read_fixed(r.file));
    if (r.workload == "lines/hot") {
      return leat::block_on(read_lines(r.file, leat::compression::none));
    }
    if (r.workload == "lines/gzip") {
      return leat::block_on(read_lines(r.file, leat::compression::gzip));
    }
    bench::unknown(r);
  });
}
