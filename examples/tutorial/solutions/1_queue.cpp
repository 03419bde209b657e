/// Exercise 1 of the tutorial: a third task splits the lines; the last one finds the longest word.

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

//! [solution]
struct summary {
  int words = 0;
  std::string longest;
};

leat::task<> split_lines(leat::fifo_queue<std::string>& lines,
                         leat::fifo_queue<std::string>& words) {
  while (const auto line = co_await lines.pop()) {  // waits while the queue is empty
    std::istringstream text(*line);
    for (std::string word; text >> word;) {
      if (!co_await words.push(word)) co_return;
    }
  }
  words.close();
}

leat::task<> count_words(leat::fifo_queue<std::string>& words, summary& sum) {
  while (const auto word = co_await words.pop()) {
    ++sum.words;
    if (word->size() > sum.longest.size()) sum.longest = *word;
  }
}

leat::task<> count(std::string path) {
  leat::fifo_queue<std::string> lines(16, "lines");
  leat::fifo_queue<std::string> words(16, "words");
  summary sum;
  co_await leat::with_task_group([&](leat::task_group& group) -> leat::task<> {
    group.spawn(read_lines(path, lines), "reader");
    group.spawn(split_lines(lines, words), "splitter");
    group.spawn(count_words(words, sum), "counter");
    co_return;
  });
  std::cout << sum.words << " words, the longest is '" << sum.longest << "'\n";
}
//! [/solution]

//! [main]
int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: 1_queue FILE\n";
    return 2;
  }
  return leat::run(count(argv[1]));
}
//! [/main]
