/// Lesson 6 of the tutorial: a count with a bug that a simulated world finds.

//! [count]
#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leat/leat.hpp>
#include <leat/sim.hpp>

leat::task<int> words_in(std::string path) {
  auto reader = co_await leat::line_reader::open(path);
  int words = 0;
  leat::line_batch lines;
  while (co_await reader->read_batch(lines)) {
    for (const std::string_view line : lines) {
      std::istringstream text{std::string(line)};
      for (std::string word; text >> word;) ++words;
    }
  }
  co_return words;
}

leat::task<> add_files(leat::fifo_queue<std::string>& paths, int& words) {
  while (const auto path = co_await paths.pop()) {
    const int before = words;
    const int more = co_await words_in(*path);
    words = before + more;
  }
}

leat::task<int> count(std::vector<std::string> files) {
  leat::fifo_queue<std::string> paths(8, "paths");
  int words = 0;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    for (int i = 1; i <= 2; ++i) {
      coord.spawn(add_files(paths, words), "reader " + std::to_string(i));
    }
    for (const std::string& path : files) {
      if (!co_await paths.push(path)) break;
    }
    paths.close();
  });
  co_return words;
}
//! [/count]

//! [test]
leat::task<> test(leat::sim::world& world) {
  world.files().write_file("/a", "one two three\n");
  world.files().write_file("/b", "four\nfive\n");
  const std::vector<std::string> files = {"/a", "/b"};
  const int words = co_await count(files);
  if (words != 5) throw std::logic_error("counted " + std::to_string(words) + " words, not 5");
}
//! [/test]

//! [main]
int main(int argc, char** argv) {
  try {
    if (argc > 1) {
      std::cout << leat::block_on(count({argv + 1, argv + argc})) << " words\n";
    } else {
      const auto swept = leat::sim::sweep(test, {.count = 1000, .replay = "./6_simulation"});
      std::cout << swept.seeds << " seeds passed\n";
    }
  } catch (const std::exception& e) {
    std::cerr << "6_simulation: " << e.what() << '\n';
    return 1;
  }
}
//! [/main]
