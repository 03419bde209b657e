/// Reads text files with several readers side by side and counts their lines and bytes: filenames
/// go through a queue, one coordinator stops everything at the first error.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <leat/leat.hpp>

namespace {

struct totals {
  std::size_t files = 0;
  std::size_t lines = 0;
  std::size_t bytes = 0;
};

//! [step]
// One step of a reader: the next file. False when there is none.
leat::task<bool> read_next(leat::fifo_queue<std::string>& names, totals& sum) {
  const auto name = co_await names.pop();
  if (!name) co_return false;
  auto reader = co_await leat::line_reader::open(*name);
  leat::line_batch batch;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    for (const std::string_view line : batch) sum.bytes += line.size();
    sum.lines += batch.size();
  }
  ++sum.files;
  co_return true;
}
//! [/step]

leat::task<totals> count(std::vector<std::string> patterns) {
  auto files = co_await leat::match_files(std::move(patterns), {.regular_only = true});
  if (files.empty()) throw leat::failure(leat::errc::not_found, "no file matches");
  leat::string_input_producer names(std::move(files), {.num_epochs = 1, .shuffle = false});
  totals sum;
  leat::fifo_queue<int> done(1, "done");
  //! [runner]
  leat::coordinator coord({.name = "counting"});
  leat::queue_runner readers(done);
  for (int i = 0; i < 4; ++i) readers.add([&] { return read_next(names.queue(), sum); });
  names.start(coord);
  readers.start(coord);
  co_await coord.join();
  //! [/runner]
  co_return sum;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> patterns(argv + 1, argv + argc);
  if (patterns.empty()) {
    std::fputs("usage: read_lines PATTERN...\n", stderr);
    return 2;
  }
  try {
    const totals sum = leat::sync_wait(count(std::move(patterns)));
    std::printf("%zu files, %zu lines, %zu bytes\n", sum.files, sum.lines, sum.bytes);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "read_lines: %s\n", e.what());
    return 1;
  }
}
