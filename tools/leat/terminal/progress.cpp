#include "terminal/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <leat/base/write_all.hpp>

#include "terminal/text.hpp"

namespace tool {
namespace {

std::mutex line_mutex;
bool line_shown = false;  // guarded by line_mutex

// "12 s", "3 min 5 s", "2 h 13 min"
std::string time_left_text(double seconds) {
  const auto left = static_cast<std::uint64_t>(std::min(std::ceil(seconds), 1e9));
  if (left < 60) return fmt::format("{} s", left);
  if (left < 3600) return fmt::format("{} min {} s", left / 60, left % 60);
  return fmt::format("{} h {} min", left / 3600, left / 60 % 60);
}

void show_line(std::string_view text) {
  const std::string line = fmt::format("\r\x1b[K{}", text);
  static_cast<void>(leat::write_all(STDERR_FILENO, line));
}

}  // namespace

bool status_line::is_visible(bool quiet) noexcept { return !quiet && ::isatty(STDERR_FILENO) != 0; }

status_line::status_line(std::function<std::string(double)> line, bool quiet)
    : line_(std::move(line)) {
  if (!is_visible(quiet)) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { show(stop); });
  } catch (const std::system_error&) {
    // No thread can be started: the command works without the line.
  }
}

status_line::~status_line() = default;

void status_line::show(const std::stop_token& stop) {
  using clock = std::chrono::steady_clock;
  constexpr auto interval = std::chrono::milliseconds(200);
  const auto begin = clock::now();
  std::condition_variable_any stopped;
  std::unique_lock lock(line_mutex);
  while (!stopped.wait_for(lock, stop, interval, [&stop] { return stop.stop_requested(); })) {
    show_line(line_(std::chrono::duration<double>(clock::now() - begin).count()));
    line_shown = true;
  }
  lock.unlock();
  hide_progress();
}

progress::progress(std::string what, std::uint64_t total, bool quiet)
    : what_(std::move(what)),
      total_(total),
      shown_([this](double seconds) { return line(seconds); }, quiet) {}

std::string progress::line(double seconds) const {
  const auto done = static_cast<double>(done_.load(std::memory_order_relaxed));
  const auto total = static_cast<double>(total_);
  std::string text = what_ + ": " + size_text(static_cast<std::uint64_t>(done));
  // Compressed data is larger than its files.
  if (total > 0 && done <= total) {
    text += fmt::format(" of {}, {:.0f} %", size_text(total_), 100 * done / total);
  }
  text += ", " + size_text(static_cast<std::uint64_t>(done / seconds)) + "/s";
  if (total > 0) text += time_left(done / total, seconds);
  return text;
}

std::string time_left(double share, double seconds) {
  if (!(share > 0) || share >= 1 || seconds < 1) return {};
  return ", " + time_left_text(seconds * (1 - share) / share) + " left";
}

void hide_progress() {
  const std::lock_guard lock(line_mutex);
  if (std::exchange(line_shown, false)) show_line("");
}

}  // namespace tool
