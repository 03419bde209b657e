// Readers of several files concurrently, on a slow device that interrupts and shortens reads. The
// records equal those that were written, and a stop loses no delivered record.

#include "simulation/steps.hpp"
#include "support/records/record_files.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::task;
using leat::sim::world;
using leat_test::texts;

texts random_lines(world& w) {
  texts all(below(w, 60));
  for (std::string& line : all) {
    line.assign(below(w, below(w, 8) == 0 ? 900 : 40), static_cast<char>('a' + below(w, 26)));
  }
  return all;
}

leat::read_options random_options(world& w) {
  return {.chunk_size = 1 + below(w, 700), .depth = 1 + below(w, 5)};
}

// Writes one file and reads it, and compares the results.
task<> one_file(world& w, std::string path, bool as_records, bool stopped, texts& expected,
                texts& seen) {
  expected = random_lines(w);
  if (as_records) {
    co_await leat_test::write_records(path, expected, 1 + below(w, 2000));
  } else {
    std::string text;
    for (const std::string& line : expected) text += line + "\n";
    w.files().write_file(path, text);
  }
  leat::task_group reading("reading");
  const leat::read_options options = random_options(w);
  reading.spawn(as_records ? leat_test::read_records_into(seen, path, {.read = options})
                           : leat_test::read_lines_into(seen, path, {.read = options}),
                "reader");
  if (stopped) {
    co_await leat::sleep_for(10us * below(w, 3000));
    reading.request_stop();
  }
  co_await reading.join();
  require(seen.size() <= expected.size() && std::equal(seen.begin(), seen.end(), expected.begin()),
          path + ": records read are not the records written");
  require(stopped || seen.size() == expected.size(), path + ": records are missing");
}

}  // namespace

task<> reading(world& w) {
  const auto count = 1 + below(w, 3);
  std::vector<texts> expected(count);
  std::vector<texts> seen(count);
  w.files().make_directory("/data");
  co_await leat::with_task_group([&](leat::task_group& group) -> task<> {
    for (std::size_t i = 0; i < count; ++i) {
      group.spawn_on(w.thread(i % w.threads()),
                     one_file(w, "/data/" + std::to_string(i), below(w, 2) == 0, below(w, 4) == 0,
                              expected[i], seen[i]));
    }
    co_return;
  });
}

}  // namespace simulation
