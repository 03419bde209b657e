#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace tool {

/// A line on standard error, shown anew all the time, where that is a terminal; gone at the end.
class status_line {
 public:
  /// True if a line would be shown.
  [[nodiscard]] static bool is_visible(bool quiet) noexcept;
  /// `line` makes it, after so many seconds, on a thread of its own. Shows nothing when `quiet`, or
  /// if the thread cannot be started.
  status_line(std::function<std::string(double seconds)> line, bool quiet);
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;
  ~status_line();

 private:
  void show(const std::stop_token& stop);

  const std::function<std::string(double seconds)> line_;
  std::jthread thread_;  // last: uses the rest
};

/// A line that says how many bytes are done, and after a second how much time is left.
///
/// Thread safety: add() is thread-safe.
class progress {
 public:
  /// `total`: bytes of all files; 0 if that is not known, as of compressed files. Shows nothing
  /// if `quiet`.
  progress(std::string what, std::uint64_t total, bool quiet);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// So many bytes more are done.
  void add(std::uint64_t bytes) noexcept { done_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  [[nodiscard]] std::string line(double seconds) const;

  const std::string what_;
  const std::uint64_t total_;
  std::atomic<std::uint64_t> done_{0};  // relaxed: a figure for people
  status_line shown_;                   // last: uses the rest
};

/// ", 12 s left": the time that the rest takes after `share` of the work took `seconds`. Empty if
/// nothing or everything is done, and in the first second, which says nothing about the rate.
[[nodiscard]] std::string time_left(double share, double seconds);

/// Takes the line away until it is shown again, so that something else can be written there.
void hide_progress();

}  // namespace tool
