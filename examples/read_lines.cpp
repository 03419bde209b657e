/// Counts the lines and bytes of text files with several concurrent readers, which pop the
/// filenames from a queue. A coordinator stops all of them at the first error.

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include <leat/leat.hpp>
#include <leat/tensorflow.hpp>

namespace {

struct totals {
  std::size_t files = 0;
  std::size_t lines = 0;
  std::size_t bytes = 0;
};

//! [read]
// Pops names and reads their files, until the queue is closed and drained.
leat::task<> read_files(leat::fifo_queue<std::string>& names, totals& sum) {
  while (const auto name = co_await names.pop()) {
    auto reader = co_await leat::line_reader::open(*name);
    leat::line_batch batch;
    while (co_await reader->read_batch(batch)) {
      for (const std::string_view line : batch) sum.bytes += line.size();
      sum.lines += batch.size();
    }
    ++sum.files;
  }
}
//! [/read]

leat::task<> count(std::vector<std::string> patterns) {
  auto files = co_await leat::match_files(std::move(patterns), {.regular_only = true});
  if (files.empty()) throw leat::failure(leat::errc::not_found, "no file matches");
  leat::string_input_producer names(std::move(files), {.num_epochs = 1, .shuffle = false});
  totals sum;
  //! [join]
  co_await leat::with_coordinator(
      [&](leat::coordinator& coord) -> leat::task<> {
        names.start(coord);
        for (int i = 0; i < 4; ++i) coord.spawn(read_files(names.queue(), sum), "reader");
        co_return;
      },
      "counting");
  //! [/join]
  std::printf("%zu files, %zu lines, %zu bytes\n", sum.files, sum.lines, sum.bytes);
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "stdout");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> patterns(argv + 1, argv + argc);
  if (patterns.empty()) {
    std::fputs("usage: read_lines PATTERN...\n", stderr);
    return 2;
  }
  return leat::run(count(std::move(patterns)));
}
