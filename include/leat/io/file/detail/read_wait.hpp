#pragma once

#include <coroutine>
#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <string_view>
#include <utility>

#include "leat/async/wait_operation.hpp"

namespace LEAT::detail {

/// A read for which one task may wait.
/// Thread safety: thread-bound.
class awaited_read {
 public:
  [[nodiscard]] bool under_way() const noexcept { return under_way_; }
  void begin() noexcept { under_way_ = true; }

  /// Wakes the waiting task.
  void end() noexcept {
    under_way_ = false;
    if (wait_operation* const reader = std::exchange(reader_, nullptr)) reader->wake();
  }

 private:
  friend class read_wait;

  wait_operation* reader_ = nullptr;
  bool under_way_ = false;
};

/// Waits until the read is complete. A stop ends the wait, but not the read.
/// Errors: cancelled.
class [[nodiscard]] read_wait final : public wait_operation {
 public:
  /// A dump shows `path` and `offset`. They must live as long as the wait.
  read_wait(awaited_read& read, std::string_view path, std::uint64_t offset,
            const std::source_location& where) noexcept
      : wait_operation(read_kind, where), read_(read), path_(path), offset_(offset) {}
  ~read_wait() {
    if (read_.reader_ == this) {
      read_.reader_ = nullptr;
    } else if (is_dying()) {
      withdraw_wakeup();
    }
  }

  bool await_ready() const noexcept { return !read_.under_way_; }
  bool await_suspend(std::coroutine_handle<> h);
  void await_resume() const;

 private:
  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static const kind read_kind;

  awaited_read& read_;
  const std::string_view path_;
  const std::uint64_t offset_;
  bool cancelled_ = false;
};

}  // namespace LEAT::detail
