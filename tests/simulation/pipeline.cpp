// A complete pipeline: files, a producer of names, readers, a shuffle queue and batches. Every line
// of every epoch arrives once, and a stop in the middle ends all stages.

#include <map>

#include "leat/coordination/coordinator.hpp"
#include "leat/input/batcher.hpp"
#include "leat/input/input_producer.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "simulation/steps.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::task;
using leat::sim::world;

task<bool> read_next(world& w, leat::fifo_queue<std::string>& names,
                     leat::random_shuffle_queue<std::string>& samples) {
  const std::optional<std::string> name = co_await names.pop();
  if (!name) co_return false;
  auto reader =
      co_await leat::line_reader::open(*name, {.read = {.chunk_size = 16 + below(w, 200)}});
  leat::line_batch batch;
  while (co_await reader->read_batch(batch)) {
    std::vector<std::string> lines(batch.begin(), batch.end());
    const std::size_t in = co_await samples.push_many(lines);
    if (in < lines.size()) co_return false;
  }
  co_return true;
}

}  // namespace

task<> pipeline(world& w) {
  const std::uint64_t epochs = 1 + below(w, 3);
  std::map<std::string, std::uint64_t> expected;
  std::vector<std::string> paths;
  for (std::uint64_t f = 0, files = 1 + below(w, 4); f < files; ++f) {
    std::string text;
    for (std::uint64_t i = 0, lines = below(w, 20); i < lines; ++i) {
      const std::string line = "file " + std::to_string(f) + " line " + std::to_string(i);
      text += line + "\n";
      expected[line] = epochs;
    }
    paths.push_back("/in/" + std::to_string(f));
    w.files().write_file(paths.back(), text);
  }
  leat::scheduler& reading = w.thread(w.threads() - 1);
  leat::coordinator coord("pipeline");
  leat::string_input_producer names(paths,
                                    {.num_epochs = epochs, .seed = w.random()(), .capacity = 2});
  leat::shuffle_batcher<std::string> batches({.batch_size = 1 + below(w, 6),
                                              .capacity = 12,
                                              .min_after_dequeue = below(w, 8),
                                              .seed = w.random()()});
  w.add_invariants(names.queue());
  w.add_invariants(batches.queue());
  for (std::uint64_t i = 0, readers = 1 + below(w, 16); i < readers; ++i) {
    batches.add([&] { return read_next(w, names.queue(), batches.queue()); },
                "reader " + std::to_string(i));
  }
  names.start(coord, reading);
  batches.start(coord, reading);
  const bool stopped = below(w, 4) == 0;
  if (stopped) {
    coord.spawn([](world& here, leat::coordinator& c) -> task<> {
      co_await leat::sleep_for(100us * below(here, 300));
      c.request_stop();
    }(w, coord));
  }
  std::map<std::string, std::uint64_t> seen;
  while (const auto batch = co_await batches.next()) {
    for (const std::string& line : *batch) ++seen[line];
  }
  co_await coord.join({.grace = 240h});
  w.clear_invariants();
  for (const auto& [line, count] : seen) {
    const auto found = expected.find(line);
    require(found != expected.end() && count <= found->second, "line occurs too often: " + line);
  }
  require(stopped || seen == expected, "lines are missing");
}

}  // namespace simulation
