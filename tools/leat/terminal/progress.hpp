#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace tool {

/// A line on standard error that is updated continuously if that is a terminal, and then removed.
class status_line {
 public:
  /// Returns true if a line would be shown.
  [[nodiscard]] static bool is_visible(bool quiet) noexcept;
  /// `line` returns the text after the given time; it is called on a separate thread. Shows nothing
  /// if `quiet`, or if the thread cannot be started.
  status_line(std::function<std::string(double seconds)> line, bool quiet);
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;
  ~status_line();

 private:
  void show(const std::stop_token& stop);

  const std::function<std::string(double seconds)> line_;
  std::jthread thread_;  // last: uses the other members
};

/// A line with the number of finished bytes and, after a second, the remaining time.
///
/// Thread safety: add() is thread-safe.
class progress {
 public:
  /// `total`: bytes of all files; 0 if unknown, as for compressed files. Shows nothing if
  /// `quiet`.
  progress(std::string what, std::uint64_t total, bool quiet);
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  /// Adds finished bytes.
  void add(std::uint64_t bytes) noexcept { done_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  [[nodiscard]] std::string line(double seconds) const;

  const std::string what_;
  const std::uint64_t total_;
  std::atomic<std::uint64_t> done_{0};  // relaxed: only for display
  status_line shown_;                   // last: uses the rest
};

/// Returns ", 12 s left": the remaining time after `share` of the work took `seconds`. Empty if no
/// work or all work is finished, and in the first second, when the rate is not yet known.
[[nodiscard]] std::string time_left(double share, double seconds);

/// Hides the line until its next update, so that other text can be written.
void hide_progress();

}  // namespace tool
