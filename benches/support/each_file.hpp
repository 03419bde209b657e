#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "support/bench.hpp"
#include "support/page_cache.hpp"

namespace bench {

/// Calls decode(path) for each file of a workload and returns the sum of the results. If the name
/// of the workload ends in "/2-cores", two threads call it.
template <class Decode>
std::size_t of_each_file(const request& r, Decode decode) {
  const std::vector<std::string> files = files_at(r.file);
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> sum{0};
  const auto take_files = [&] {
    for (std::size_t f; (f = next++) < files.size();) sum += decode(files[f]);
  };
  if (!r.workload.ends_with("/2-cores")) {
    take_files();
    return sum;
  }
  {
    const std::jthread first(take_files);
    const std::jthread second(take_files);
  }
  return sum;
}

}  // namespace bench
