// Reads rows of CSV into vectors with std::getline, and std::strtoll or std::strtod per field.

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "support/bench.hpp"
#include "support/csv_rows.hpp"
#include "support/each_file.hpp"
#include "support/page_cache.hpp"

namespace {

void add_row(const std::string& line, bench::csv_rows& to) {
  char* at = nullptr;
  to.ids.push_back(std::strtoll(line.c_str(), &at, 10));
  to.prices.push_back(std::strtod(at + 1, &at));
  to.ratios.push_back(std::strtof(at + 1, &at));
  const char* const text = at + 1;
  const std::size_t begin = static_cast<std::size_t>(text - line.c_str());
  const std::size_t end = line.find(',', begin);
  to.states.emplace_back(line, begin, end - begin);
  to.counts.push_back(std::strtoll(line.c_str() + end + 1, nullptr, 10));
}

std::size_t decode(const std::string& path) {
  std::vector<char> buffer(1 << 20);
  std::ifstream in;
  in.rdbuf()->pubsetbuf(buffer.data(), static_cast<std::streamsize>(buffer.size()));
  in.open(path);
  std::string line;
  bench::csv_rows rows;
  std::size_t bytes = 0;
  while (std::getline(in, line)) {
    rows.make_room();
    add_row(line, rows);
    bytes += line.size() + 1;
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  return bench::report_reading(r, "getline, strtod, strtoll",
                               [&] { return bench::of_each_file(r, decode); });
}
