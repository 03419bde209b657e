/// Lesson 1 of the tutorial: a task reads the lines of a file, another one counts their words.

//! [read]
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <leat/leat.hpp>

leat::task<> read_lines(std::string path, leat::fifo_queue<std::string>& lines) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  for (std::string line; std::getline(file, line);) {
    // Waits while the queue is full. Returns false once the queue is closed.
    if (!co_await lines.push(line)) co_return;
  }
  lines.close();
}
//! [/read]

//! [count]
leat::task<> count_words(leat::fifo_queue<std::string>& lines, int& words) {
  while (const auto line = co_await lines.pop()) {  // waits while the queue is empty
    std::istringstream text(*line);
    for (std::string word; text >> word;) ++words;
  }
}
//! [/count]

//! [run]
leat::task<> count(std::string path) {
  leat::fifo_queue<std::string> lines(16, "lines");
  int words = 0;
  co_await leat::with_task_group([&](leat::task_group& group) -> leat::task<> {
    group.spawn(read_lines(path, lines), "reader");
    group.spawn(count_words(lines, words), "counter");
    co_return;
  });
  std::cout << words << " words\n";
}
//! [/run]

//! [main]
int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 1_queue FILE\n";
    return 2;
  }
  return leat::run(count(argv[1]));
}
//! [/main]
