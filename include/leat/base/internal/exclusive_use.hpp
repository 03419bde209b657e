#pragma once

#include <utility>

#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {

/// Detects misuse of a reader, writer or pipeline: use by two tasks at the same time, of which the
/// second would overwrite the state of the first; a move or destruction during use; and use after a
/// move.
///
/// Declare it as a member before the members that the tasks use. Thread safety: thread-bound.
class exclusive_use {
 public:
  class guard {
   public:
    explicit guard(exclusive_use& owner) noexcept : owner_(owner) {
      LEAT_ASSERT(owner.state_ != state::moved_from,
                  "reader, writer or pipeline used after a move: use the object it was moved to");
      LEAT_ASSERT(owner.state_ != state::busy,
                  "reader, writer or pipeline used by two tasks at the same time: create one for "
                  "each task");
      owner.state_ = state::busy;
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() { owner_.state_ = state::idle; }

   private:
    exclusive_use& owner_;
  };

  exclusive_use() = default;
  exclusive_use(exclusive_use&& from) noexcept
      : state_(std::exchange(from.state_, state::moved_from)) {
    LEAT_ASSERT(state_ != state::busy,
                "reader, writer or pipeline moved while a task uses it: join the task first");
  }
  exclusive_use& operator=(exclusive_use&&) = delete;
  ~exclusive_use() { require_idle(); }

  /// Called by a destructor before it destroys members that a task may be using.
  void require_idle() const noexcept {
    LEAT_ASSERT(state_ != state::busy,
                "reader, writer or pipeline destroyed while a task uses it: join the task first");
  }

 private:
  enum class state : unsigned char { idle, busy, moved_from };

  state state_ = state::idle;
};

}  // namespace LEAT::detail
