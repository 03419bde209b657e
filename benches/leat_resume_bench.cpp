// Pipelines that are saved and restored: records of a TFRecord file, a shuffle buffer of 100,000,
// batches of 128, of which --items records are read first.
//
// resume/save        ms that a save takes
// resume/state       KiB of a state
// resume/restore     ms from restore() to the first batch, files open and in the page cache
// resume/saving      ns a record of ten times as many, with a save every second
// resume/not-saving  the same without

#include <optional>
#include <string>
#include <utility>

#include <leat/leat.hpp>

#include "support/bench.hpp"

namespace {

constexpr std::size_t capacity = 100'000;
constexpr std::size_t batch_size = 128;

auto declared(const std::string& file) {
  return leat::read_files<leat::tfrecord_reader>({.files = {file}, .num_epochs = std::nullopt})
      .shuffle({.capacity = capacity, .seed = 1})
      .batch({.size = batch_size});
}

template <class Pipeline>
leat::task<std::size_t> read(Pipeline& p, std::size_t records) {
  std::size_t seen = 0;
  while (seen < records) {
    const auto batch = co_await p.next();
    if (!batch) break;
    seen += batch->size();
  }
  co_return seen;
}

leat::task<double> save(const bench::request& r) {
  auto p = declared(r.file);
  co_await read(p, static_cast<std::size_t>(r.items));
  constexpr int times = 20;
  std::size_t bytes = 0;
  const bench::stopwatch watch;
  for (int i = 0; i < times; ++i) bytes = p.save().size();
  const double ms = watch.seconds() * 1e3 / times;
  co_await p.stop();
  co_return r.workload == "resume/state" ? static_cast<double>(bytes) / 1024 : ms;
}

leat::task<double> restore(const bench::request& r) {
  auto p = declared(r.file);
  co_await read(p, static_cast<std::size_t>(r.items));
  std::string state = p.save();
  co_await p.stop();
  auto other = declared(r.file);
  const bench::stopwatch watch;
  co_await other.restore(std::move(state));
  co_await read(other, 1);
  const double ms = watch.seconds() * 1e3;
  co_await other.stop();
  co_return ms;
}

leat::task<double> throughput(const bench::request& r, bool saving) {
  auto p = declared(r.file);
  co_await read(p, capacity);
  std::size_t seen = 0;
  const bench::stopwatch watch;
  double next = 1;
  while (seen < 10 * static_cast<std::size_t>(r.items)) {
    seen += co_await read(p, 50 * batch_size);
    if (!saving || watch.seconds() < next) continue;
    static_cast<void>(p.save());
    ++next;
  }
  const double ns = watch.seconds() * 1e9 / static_cast<double>(seen);
  co_await p.stop();
  co_return ns;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  const char* unit = "ms";
  double value = 0;
  if (r.workload == "resume/save" || r.workload == "resume/state") {
    value = leat::sync_wait(save(r));
    if (r.workload == "resume/state") unit = "KiB";
  } else if (r.workload == "resume/restore") {
    value = leat::sync_wait(restore(r));
  } else if (r.workload == "resume/saving" || r.workload == "resume/not-saving") {
    value = leat::sync_wait(throughput(r, r.workload == "resume/saving"));
    unit = "ns/record";
  } else {
    bench::unknown(r);
  }
  return bench::report(r, "leat", value, unit);
}
