#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "leat/async/task.hpp"

namespace LEAT {

/// The context in which the steps of a program run, such as a connection to the storage of the
/// state. Most programs need no context and use the empty session.
///
/// Each attempt to start opens a new session, because an old one may refer to a dead peer. A
/// session is movable.
///
/// Thread safety: thread-bound.
class session {
 public:
  session() = default;
  /// Creates an open session. close() awaits `close` once; the destructor does not call it.
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

  /// Returns true until close() is called or the session is moved from.
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  /// Returns the resource that was passed to the constructor, or null after close().
  [[nodiscard]] void* resource() const noexcept { return resource_.get(); }

  /// Closes the session. A second call has no effect.
  ///
  /// Errors: exceptions of the `close` function; the session is closed anyway.
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

}  // namespace LEAT
