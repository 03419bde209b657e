#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "leat/async/task.hpp"

namespace leat {

/// What the steps of a program run in, from its opening to its close: a connection to where the
/// state lives, for instance. Most programs have nothing of the kind, and use the empty one.
///
/// A new one is opened for each attempt to begin, since an old one may know a peer that is dead.
///
/// Movable. Thread safety: thread-bound.
class session {
 public:
  session() = default;
  /// `close` is awaited once, by close(). Not called where a session only ends.
  explicit session(std::shared_ptr<void> resource, std::function<task<void>()> close = {})
      : resource_(std::move(resource)), close_(std::move(close)) {}
  session(session&& other) noexcept
      : resource_(std::move(other.resource_)),
        close_(std::exchange(other.close_, nullptr)),
        open_(std::exchange(other.open_, false)) {}
  session& operator=(session&& other) noexcept {
    resource_ = std::move(other.resource_);
    close_ = std::exchange(other.close_, nullptr);
    open_ = std::exchange(other.open_, false);
    return *this;
  }

  [[nodiscard]] bool is_open() const noexcept { return open_; }
  /// What it was opened with.
  [[nodiscard]] void* resource() const noexcept { return resource_.get(); }

  /// Ends the session; a second close does nothing. Errors: what its function throws; it is closed
  /// all the same.
  [[nodiscard]] task<void> close() {
    if (!std::exchange(open_, false)) co_return;
    const std::shared_ptr<void> resource = std::move(resource_);
    const std::function<task<void>()> function = std::exchange(close_, nullptr);
    if (function) co_await function();
  }

 private:
  std::shared_ptr<void> resource_;
  std::function<task<void>()> close_;
  bool open_ = true;
};

}  // namespace leat
