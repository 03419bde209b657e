#pragma once

#include <utility>

#include "leat/base/detail/assert.hpp"

namespace leat::detail {

/// Catches what nobody may do with a reader, writer or pipeline: two tasks that use it at the same
/// time, the second of which would overwrite what the first one waits for; a move or an end while
/// one does; and use of one that was moved from.
///
/// A member of it, in front of what the tasks use. Thread safety: thread-bound.
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

  /// For a destructor, before it destroys what a task may be using.
  void require_idle() const noexcept {
    LEAT_ASSERT(state_ != state::busy,
                "reader, writer or pipeline destroyed while a task uses it: join the task first");
  }

 private:
  enum class state : unsigned char { idle, busy, moved_from };

  state state_ = state::idle;
};

}  // namespace leat::detail
