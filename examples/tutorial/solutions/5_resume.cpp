/// Exercise 5 of the tutorial: the same job, whose pipeline reads ahead.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <leat/leat.hpp>

using namespace std::chrono_literals;

struct totals {
  std::int64_t batches = 0;
  std::array<std::int64_t, 12> lengths = {};  // how many words have this length; the last: or more
  std::uint64_t digest = 0;                   // depends on each word and on their order

  void add(const std::vector<std::string>& batch) {
    for (const std::string& word : batch) {
      ++lengths[std::min(word.size(), lengths.size() - 1)];
      for (const char c : word) digest = digest * 31 + static_cast<unsigned char>(c);
    }
    ++batches;
  }
};

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream text{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

//! [solution]
auto declare(std::vector<std::string> patterns) {
  return leat::read_files<leat::line_reader>({.files = patterns})
      .flat_map("words", words_of)
      .shuffle({.capacity = 1000, .seed = 1})
      .batch({.batch_size = 100})
      .prefetch(2);
}
//! [/solution]

leat::task<int> count(std::string folder, std::vector<std::string> patterns) {
  auto batches = declare(patterns);
  totals sum;
  leat::checkpoint_registry state("word lengths");
  state.add("global_step", sum.batches);
  state.add("lengths", sum.lengths);
  state.add("digest", sum.digest);
  state.add("input", batches);

  leat::supervisor job({.logdir = folder, .state = &state, .save_model_interval = 300ms});
  const leat::stop_on_signal guard(job);
  const auto body = [&]() -> leat::task<> {
    std::cout << "starts after " << sum.batches << " batches" << std::endl;
    co_await batches.for_each([&](std::vector<std::string> batch) -> leat::task<> {
      sum.add(batch);
      co_await leat::sleep_for(50ms);  // stands for work that takes longer
    });
  };
  co_await job.managed(body);
  if (job.stopped()) {
    std::cout << "stopped after " << sum.batches << " batches\n";
    co_return 75;
  }
  std::cout << sum.batches << " batches, digest " << std::hex << sum.digest << std::dec << '\n';
  for (std::size_t i = 1; i < sum.lengths.size(); ++i) {
    std::cout << (i + 1 < sum.lengths.size() ? "   " : ">= ") << i << " letters: ";
    std::cout << sum.lengths[i] << '\n';
  }
  co_return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: 5_resume FOLDER FILE...\n";
    return 2;
  }
  return leat::run(count(argv[1], {argv + 2, argv + argc}), {.signals = {}});
}
