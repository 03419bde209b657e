// Reads rows of CSV into vectors with the Fast C++ CSV Parser, which reads on a thread of its own.
// It does not round floats to the nearest value.

#include <cstdint>
#include <filesystem>
#include <string>

#include <libfccp/csv.h>

#include "support/bench.hpp"
#include "support/csv_rows.hpp"
#include "support/each_file.hpp"
#include "support/page_cache.hpp"

namespace {

std::size_t decode(const std::string& path) {
  io::CSVReader<5> in(path);
  bench::csv_rows rows;
  std::int64_t id = 0;
  double price = 0;
  float ratio = 0;
  char* state = nullptr;
  std::int64_t count = 0;
  while (in.read_row(id, price, ratio, state, count)) {
    rows.make_room();
    rows.ids.push_back(id);
    rows.prices.push_back(price);
    rows.ratios.push_back(ratio);
    rows.states.emplace_back(state);
    rows.counts.push_back(count);
  }
  return std::filesystem::file_size(path);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  return bench::report_reading(r, "Fast C++ CSV Parser",
                               [&] { return bench::of_each_file(r, decode); });
}
