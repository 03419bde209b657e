// The same seed gives the same order with every compiler, optimisation, backend and number of
// threads: the recorded fingerprints of some orders.

#include <algorithm>

#include "leat/base/bytes.hpp"
#include "leat/base/random.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/input/batcher.hpp"
#include "leat/input/input_producer.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/queue/random_shuffle_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace fingerprint_test {

// Depends on the order.
class fingerprint {
 public:
  void add(std::string_view text) {
    crc_ = leat::extend_crc32c(crc_, leat::as_bytes(text));
    crc_ = leat::extend_crc32c(crc_, leat::as_bytes("\n"));
  }
  [[nodiscard]] std::uint32_t value() const { return crc_; }

 private:
  std::uint32_t crc_ = 0;
};

TEST_CASE("fingerprint: random numbers and shuffles", "[pipeline]") {
  fingerprint f;
  leat::random_engine random(42);
  for (int i = 0; i < 1000; ++i) f.add(std::to_string(random()));
  for (int i = 0; i < 1000; ++i) f.add(std::to_string(random.uniform_below(1000)));
  std::vector<int> order(1000);
  for (int i = 0; i < 1000; ++i) order[static_cast<std::size_t>(i)] = i;
  leat::shuffle(order.begin(), order.end(), random);
  for (const int i : order) f.add(std::to_string(i));
  CHECK(f.value() == 0x4691488a);
}

task<> draw(fingerprint& f) {
  leat::random_shuffle_queue<int> q({.capacity = 100, .min_after_dequeue = 50, .seed = 7});
  int next = 0;
  for (; next < 100; ++next) co_await q.push(int{next});
  for (; next < 1000; ++next) {
    const auto item = co_await q.pop();
    f.add(std::to_string(*item));
    co_await q.push(int{next});
  }
  q.close();
  while (const auto item = co_await q.pop()) f.add(std::to_string(*item));
}

TEST_CASE("fingerprint: order of a shuffle queue", "[pipeline]") {
  fingerprint f;
  leat::block_on(draw(f));
  CHECK(f.value() == 0x89fc3f97);
}

// With one reader, the order depends only on the order of the names and on the draws.
task<> run_pipeline(std::vector<std::string> paths, leat::scheduler& reading, fingerprint& f) {
  leat::coordinator coord;
  leat::string_input_producer names(std::move(paths), {.num_epochs = 3, .seed = 5});
  leat::batcher<std::string> batches({.batch_size = 7, .capacity = 50});
  batches.add([&]() -> task<bool> {
    const auto name = co_await names.queue().pop();
    if (!name) co_return false;
    auto reader = co_await leat::line_reader::open(*name, {.read = {.chunk_size = 100}});
    leat::line_batch lines;
    while (co_await reader->read_batch(lines)) {
      std::vector<std::string> copy(lines.begin(), lines.end());
      co_await batches.queue().push_many(copy);
    }
    co_return true;
  });
  names.start(coord, reading);
  batches.start(coord, reading);
  while (const auto batch = co_await batches.next()) {
    for (const std::string& line : *batch) f.add(line);
  }
  co_await coord.join();
}

// Writes files with `lines`, lines + 1, ... lines.
std::vector<std::string> write_files(const temp_dir& dir, int files, int lines) {
  std::vector<std::string> paths;
  for (int i = 0; i < files; ++i) {
    std::string text;
    for (int j = 0; j < lines + i; ++j) text += std::to_string(i) + "/" + std::to_string(j) + "\n";
    paths.push_back(dir.write("f" + std::to_string(i), text));
  }
  return paths;
}

TEST_CASE("fingerprint: a pipeline with one reader, on one thread and on two", "[pipeline]") {
  const temp_dir dir;
  const std::vector<std::string> paths = write_files(dir, 10, 20);
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
    fingerprint f;
    leat::runtime rt({.threads = threads});
    rt.block_on(run_pipeline(paths, rt.get_scheduler(threads - 1), f));
    CHECK(f.value() == 0xf51c6dda);
  }
}

TEST_CASE("fingerprint: a declared pipeline with any number of workers", "[pipeline]") {
  const temp_dir dir;
  const std::vector<std::string> paths = write_files(dir, 5, 60);
  leat::runtime rt({.threads = 3});
  for (const std::size_t workers : std::vector<std::size_t>{0, 1, 2, 8}) {
    auto p = leat::read_files<leat::line_reader>({.files = paths,
                                                  .num_epochs = 2,
                                                  .shuffle = true,
                                                  .seed = 9,
                                                  .interleave = 3,
                                                  .block_length = 4},
                                                 {.workers = leat::schedulers_of(rt)})
                 .map("text", [](std::string_view line) { return std::string(line); },
                      {.workers = workers})
                 .shuffle({.capacity = 40, .seed = 10})
                 .prefetch(2);
    fingerprint f;
    const auto read = [&]() -> task<> {
      while (const auto line = co_await p.next()) f.add(*line);
    };
    rt.block_on(read());
    CHECK(f.value() == 0x7510e0bc);
  }
}

TEST_CASE("fingerprint: decisions of a simulated world", "[pipeline]") {
  fingerprint f;
  leat::sim::world w(11, {.threads = 2, .files = {.faults = {.short_transfer = 0.2, .slow = 0.1}}});
  std::string text;
  for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + "\n";
  w.files().write_file("/a", text);
  w.run([](leat::sim::world& here) -> task<> {
    std::vector<std::string> paths(2, "/a");
    fingerprint ignored;
    co_await run_pipeline(std::move(paths), here.thread(1), ignored);
  });
  for (const auto& c : w.decisions().made()) f.add(std::to_string(c.chosen));
  f.add(std::to_string(w.now().time_since_epoch().count()));
  CHECK(f.value() == 0xf46a9c20);
}

}  // namespace fingerprint_test
