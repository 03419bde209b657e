#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

namespace tool {

/// A line on standard error that says how far one is, where that is a terminal; gone at the end.
///
/// Thread safety: add() is shared-safe.
class progress {
 public:
  /// `total`: bytes of all files; 0 where that is not known. Shows nothing when `quiet`.
  progress(std::string what, std::uint64_t total, bool quiet);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();

  /// So many bytes more are done.
  void add(std::uint64_t bytes) noexcept { done_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  void show(const std::stop_token& stop);
  [[nodiscard]] std::string line(double seconds) const;

  const std::string what_;
  const std::uint64_t total_;
  std::atomic<std::uint64_t> done_{0};  // relaxed: a figure for people
  std::jthread shower_;                 // last: uses the rest
};

/// Takes the line away until it is shown again, so that something else can be written there.
void hide_progress();

}  // namespace tool
