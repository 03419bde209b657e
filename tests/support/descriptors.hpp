#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <string>

#include <catch2/catch.hpp>

#include "base/internal/system_call.hpp"
#include "leat/async/loop/embedded_scheduler.hpp"

namespace leat_test {

/// Returns true if a descriptor becomes readable within this time.
inline bool readable(int descriptor, int milliseconds = 0) {
  pollfd p{descriptor, POLLIN, 0};
  const auto count = leat::detail::retry_on_eintr([&] { return ::poll(&p, 1, milliseconds); });
  return count == 1 && (p.revents & POLLIN) != 0;
}
inline bool readable(const leat::embedded_scheduler& s, int milliseconds = 0) {
  return readable(s.descriptor(), milliseconds);
}

/// An event loop that runs the scheduler whenever its descriptor is readable, until the scheduler
/// is idle. Fails the test if a wake-up is missing.
inline void loop_until_idle(leat::embedded_scheduler& s, std::size_t max_items = 256) {
  while (!s.idle()) {
    REQUIRE(readable(s, 30'000));
    s.run_ready(max_items);
  }
}

/// Returns the number of open descriptors of the process.
inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all))) - 1;  // without this one
}

/// Returns the sum of the counters of all eventfds in the process: the writes that no thread has
/// read.
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
