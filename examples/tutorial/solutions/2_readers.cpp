/// Exercise 2 of the tutorial: a thread reads the paths from standard input.

#include <iostream>
#include <map>
#include <sstream>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

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

//! [solution]
// Waits for standard input; returns false after a stop request.
bool readable(const std::stop_token& stop) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (!stop.stop_requested()) {
    if (poll(&input, 1, 100) > 0) return true;  // waits at most 100 ms
  }
  return false;
}

void read_paths(leat::fifo_queue<std::string>& paths, const std::stop_token& stop) {
  std::string path;
  for (char c = 0; readable(stop) && read(STDIN_FILENO, &c, 1) == 1;) {
    if (c != '\n') {
      path += c;
    } else {
      leat::block_on(paths.push(std::exchange(path, {})));
    }
  }
  if (!path.empty()) leat::block_on(paths.push(path));  // the last line may have no end
  paths.close();
}

leat::task<> count() {
  leat::fifo_queue<std::string> paths(8, "paths");
  word_counts counts;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    for (int i = 1; i <= 4; ++i) {
      coord.spawn(count_files(paths, counts), "reader " + std::to_string(i));
    }
    coord.start_thread("paths", [&](const std::stop_token& stop) { read_paths(paths, stop); });
    co_return;
  });
  for (const auto& [path, words] : counts) std::cout << path << ": " << words << " words\n";
}
//! [/solution]

//! [main]
int main() { return leat::run(count()); }
//! [/main]
