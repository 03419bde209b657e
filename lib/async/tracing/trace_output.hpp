#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// A file that a thread of its own writes, so that no disk delays the callers.
///
/// States: open, then full (the limit of the size was reached) or failed (a write has failed), then
/// closed. Only an open file accepts text.
///
/// Thread safety: thread-safe, except for close().
class trace_output {
 public:
  /// The most text that waits for the thread.
  static constexpr std::size_t max_waiting = std::size_t{16} << 20;

  /// Creates the file. Errors: std::system_error.
  trace_output(std::string path, std::uint64_t max_bytes);
  trace_output(const trace_output&) = delete;
  trace_output& operator=(const trace_output&) = delete;
  ~trace_output();

  /// Returns true if the file is open.
  [[nodiscard]] bool is_open() const noexcept { return is_open_.load(std::memory_order_relaxed); }
  /// Returns true if the limit of the size was reached.
  [[nodiscard]] bool is_full() const noexcept { return is_full_.load(std::memory_order_relaxed); }

  /// Hands `text` to the thread and empties it. Returns false if the text is dropped, because the
  /// file is not open, or too much text waits.
  bool add(std::string& text) noexcept;

  /// Writes what is handed over, and calls `collect` at intervals, until close() is called. Then it
  /// closes the file. For the thread.
  void write_until_closed(const std::function<void()>& collect) noexcept;

  /// Ends the thread after it has written all text that was handed over, and then `last`. Returns
  /// the first error, or success, and the offset at which it occurred.
  std::error_code close(std::string last, std::uint64_t& offset) noexcept;

  /// Returns the path of the file.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  static constexpr duration interval = std::chrono::milliseconds(250);
  // Of the size, for the last line.
  static constexpr std::uint64_t reserve = 1024;

  void write(std::string_view text) noexcept;
  void close_file() noexcept;

  const std::string path_;
  const std::uint64_t max_bytes_;
  int descriptor_;  // used by the thread, like the next two; -1: closed
  std::uint64_t written_ = 0;
  std::error_code error_;

  std::atomic<bool> is_open_{true};
  std::atomic<bool> is_full_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t accepted_ = 0;
  std::string last_;
  bool is_closing_ = false;
  bool has_ended_ = false;
};

}  // namespace LEAT::detail
