/// Lesson 4 of the tutorial: a count that ends by Ctrl-C, by an error or by a timeout.

//! [tasks]
#include <chrono>
#include <iostream>
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

leat::task<> count_words(leat::fifo_queue<std::string>& lines, int& words) {
  while (const auto line = co_await leat::with_timeout(lines.pop(), 2s)) {
    std::istringstream text(*line);
    for (std::string word; text >> word;) ++words;
    co_await leat::sleep_for(10ms);  // stands for work that takes longer
  }
}
//! [/tasks]

//! [run]
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
//! [/run]

//! [main]
int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 4_stop FILE\n";
    return 2;
  }
  return leat::run(count(argv[1]));
}
//! [/main]
