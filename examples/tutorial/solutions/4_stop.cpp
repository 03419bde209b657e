/// Exercise 4 of the tutorial: silence is reported, and ends the count after three times.

#include <chrono>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include <leat/leat.hpp>

using namespace std::chrono_literals;

leat::task<> read_lines(std::string path, leat::fifo_queue<std::string>& lines) {
  auto reader = co_await leat::line_reader::open(path);
  leat::line_batch batch;
  while (co_await reader->read_batch(batch)) {
    for (const std::string_view line : batch) {
      if (!co_await lines.push(std::string(line))) co_return;
    }
  }
  lines.close();
}

//! [solution]
leat::task<> count_words(leat::fifo_queue<std::string>& lines, int& words) {
  for (int silent = 0;;) {
    std::optional<std::string> line;
    try {
      line = co_await leat::with_timeout(lines.pop(), 500ms);
      silent = 0;
    } catch (const leat::failure& e) {
      if (e.code() != leat::errc::deadline_exceeded || ++silent == 3) throw;
      std::cerr << "no line for 500 ms\n";
      continue;
    }
    if (!line) co_return;  // closed and empty
    std::istringstream text(*line);
    for (std::string word; text >> word;) ++words;
    co_await leat::sleep_for(10ms);  // stands for work that takes longer
  }
}
//! [/solution]

leat::task<int> count(std::string path) {
  leat::fifo_queue<std::string> lines(16, "lines");
  int words = 0;
  bool complete = false;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    coord.spawn(read_lines(path, lines), "reader");
    co_await count_words(lines, words);
    complete = true;
  });
  std::cout << words << " words" << (complete ? "" : " until it was stopped") << '\n';
  co_return complete ? 0 : 75;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 4_stop FILE\n";
    return 2;
  }
  return leat::run(count(argv[1]));
}
