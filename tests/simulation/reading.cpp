// Readers of several files at a time on a device that is slow, interrupts and cuts short: the
// records are what was written; a stop loses none that was delivered.

#include <algorithm>

#include "leat/core/error.hpp"
#include "leat/core/sleep.hpp"
#include "leat/core/task_group.hpp"
#include "leat/io/line_reader.hpp"
#include "leat/io/tfrecord_reader.hpp"
#include "leat/io/tfrecord_writer.hpp"
#include "simulation/scenarios.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::sim::world;
using texts = std::vector<std::string>;

texts random_lines(world& w) {
  texts all(static_cast<std::size_t>(w.random().below(60)));
  for (std::string& line : all) {
    line.assign(static_cast<std::size_t>(w.random().below(w.random().below(8) == 0 ? 900 : 40)),
                static_cast<char>('a' + w.random().below(26)));
  }
  return all;
}

leat::read_options random_options(world& w) {
  return {.chunk_size = static_cast<std::size_t>(1 + w.random().below(700)),
          .depth = static_cast<std::size_t>(1 + w.random().below(5))};
}

task<> read_lines(world& w, std::string path, texts& out) {
  auto reader = co_await leat::line_reader::open(path, {.read = random_options(w)});
  leat::line_batch batch;
  while (co_await reader->read_batch(batch)) out.insert(out.end(), batch.begin(), batch.end());
}

task<> read_records(world& w, std::string path, texts& out) {
  auto reader = co_await leat::tfrecord_reader::open(path, {.read = random_options(w)});
  leat::record_batch batch;
  while (co_await reader->read_batch(batch)) {
    for (const leat::byte_view r : batch) out.emplace_back(leat::as_text(r));
  }
}

task<> write_records(world& w, std::string path, const texts& records) {
  auto writer = co_await leat::tfrecord_writer::open(
      path, {.buffer_size = static_cast<std::size_t>(1 + w.random().below(2000))});
  for (const std::string& r : records) co_await writer.write(leat::as_bytes(r));
  co_await writer.close();
}

// One file, from its content to what a reader has seen of it.
task<> one_file(world& w, std::string path, bool as_records, bool stopped, texts& expected,
                texts& seen) {
  expected = random_lines(w);
  if (as_records) {
    co_await write_records(w, path, expected);
  } else {
    std::string text;
    for (const std::string& line : expected) text += line + "\n";
    w.files().write_file(path, text);
  }
  leat::task_group reading("reading");
  reading.spawn(as_records ? read_records(w, path, seen) : read_lines(w, path, seen), "reader");
  if (stopped) {
    co_await leat::sleep_for(10us * w.random().below(3000));
    reading.request_stop();
  }
  co_await reading.join();
  require(seen.size() <= expected.size() && std::equal(seen.begin(), seen.end(), expected.begin()),
          path + ": what was read is not what was written");
  require(stopped || seen.size() == expected.size(), path + ": records are missing");
}

}  // namespace

task<> reading(world& w) {
  const auto count = static_cast<std::size_t>(1 + w.random().below(3));
  std::vector<texts> expected(count);
  std::vector<texts> seen(count);
  w.files().make_directory("/data");
  co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
    for (std::size_t i = 0; i < count; ++i) {
      group.spawn_on(w.thread(i % w.threads()),
                     one_file(w, "/data/" + std::to_string(i), w.random().below(2) == 0,
                              w.random().below(4) == 0, expected[i], seen[i]));
    }
    co_return;
  });
}

}  // namespace simulation
