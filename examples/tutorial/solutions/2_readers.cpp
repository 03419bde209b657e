/// Exercise 2 of the tutorial: a thread reads the paths from standard input.

#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>

#include <leat/leat.hpp>

using word_counts = std::map<std::string, int>;  // by path

int words_in(std::string_view line) {
  std::istringstream text{std::string(line)};
  int words = 0;
  for (std::string word; text >> word;) ++words;
  return words;
}

leat::task<> read_files(leat::fifo_queue<std::string>& paths, word_counts& counts) {
  while (const auto path = co_await paths.pop()) {
    auto reader = co_await leat::line_reader::open(*path);
    int words = 0;
    leat::line_batch lines;
    while (co_await reader->read_batch(lines)) {
      for (const std::string_view line : lines) words += words_in(line);
    }
    counts[*path] = words;
  }
}

//! [solution]
leat::task<word_counts> count() {
  leat::fifo_queue<std::string> paths(8, "paths");
  word_counts counts;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    for (int i = 1; i <= 4; ++i) {
      coord.spawn(read_files(paths, counts), "reader " + std::to_string(i));
    }
    coord.start_thread("paths", [&] {
      for (std::string path; std::getline(std::cin, path);) paths.wait_push(path);
      paths.close();
    });
    co_return;
  });
  co_return counts;
}
//! [/solution]

int main() {
  try {
    for (const auto& [path, words] : leat::sync_wait(count())) {
      std::cout << path << ": " << words << " words\n";
    }
  } catch (const std::exception& e) {
    std::cerr << "2_readers: " << e.what() << '\n';
    return 1;
  }
}
