/// Lesson 2 of the tutorial: four tasks read files and count their words; a coordinator owns them.

//! [read]
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leat/leat.hpp>

using word_counts = std::map<std::string, int>;  // by path

int words_in(std::string_view line) {
  std::istringstream text{std::string(line)};
  int words = 0;
  for (std::string word; text >> word;) ++words;
  return words;
}

leat::task<> count_files(leat::fifo_queue<std::string>& paths, word_counts& counts) {
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
//! [/read]

//! [run]
leat::task<> count(std::vector<std::string> patterns) {
  const auto found = co_await leat::match_files(patterns);
  if (found.empty()) throw std::runtime_error("no file matches");
  leat::fifo_queue<std::string> paths(8, "paths");
  word_counts counts;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    for (int i = 1; i <= 4; ++i) {
      coord.spawn(count_files(paths, counts), "reader " + std::to_string(i));
    }
    for (const std::string& path : found) {
      if (!co_await paths.push(path)) break;
    }
    paths.close();
  });
  for (const auto& [path, words] : counts) std::cout << path << ": " << words << " words\n";
}
//! [/run]

//! [main]
int main(int argc, char** argv) { return leat::run(count({argv + 1, argv + argc})); }
//! [/main]
