#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <string>

#include <catch2/catch.hpp>

#include "leat/async/loop/embedded_scheduler.hpp"

namespace leat_test {

/// True when a descriptor has become readable; waits for it at most so long.
inline bool readable(int descriptor, int milliseconds = 0) {
  pollfd p{descriptor, POLLIN, 0};
  return ::poll(&p, 1, milliseconds) == 1 && (p.revents & POLLIN) != 0;
}
inline bool readable(const leat::embedded_scheduler& s, int milliseconds = 0) {
  return readable(s.descriptor(), milliseconds);
}

/// An event loop: runs the scheduler whenever its descriptor is readable, until it is idle. Fails
/// when a wake-up does not come.
inline void loop_until_idle(leat::embedded_scheduler& s, std::size_t max_items = 256) {
  while (!s.idle()) {
    REQUIRE(readable(s, 30'000));
    s.run_ready(max_items);
  }
}

/// Open descriptors of the process.
inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all))) - 1;  // without this one
}

/// What has been written to eventfds that nobody has read, over all of the process.
inline std::uint64_t eventfd_writes() {
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(entry.path());
    for (std::string word; info >> word;) {
      if (word == "eventfd-count:" && info >> word) sum += std::stoull(word, nullptr, 16);
    }
  }
  return sum;
}

}  // namespace leat_test
