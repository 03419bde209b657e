/// Exercise 3 of the tutorial: the same words, shuffled.

#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <leat/leat.hpp>

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream text{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

//! [solution]
auto declare(std::vector<std::string> patterns) {
  return leat::read_files<leat::line_reader>({.files = patterns, .interleave = 2})
      .flat_map("words", words_of)
      .shuffle({.capacity = 2000, .seed = 1})
      .batch({.batch_size = 1000});
}
//! [/solution]

leat::task<> count(std::vector<std::string> patterns) {
  auto batches = declare(patterns);
  int words = 0;
  std::map<std::string, int> times;
  co_await batches.for_each([&](std::vector<std::string> batch) {
    std::cout << "a batch of " << batch.size() << " words, from '" << batch.front() << "' to '"
              << batch.back() << "'\n";
    words += static_cast<int>(batch.size());
    for (const std::string& word : batch) ++times[word];
  });
  std::cout << words << " words, " << times["the"] << " times 'the'\n";
}

int main(int argc, char** argv) { return leat::run(count({argv + 1, argv + argc})); }
