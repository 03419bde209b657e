// leat's readers through the public coroutine interface; the file is in the page cache; GB/s.
//
// tfrecord/hot-verified   all checksums
// lines/hot               text lines

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

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
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
