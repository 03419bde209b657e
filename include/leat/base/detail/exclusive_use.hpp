#pragma once

#include <utility>

#include "leat/base/assert.hpp"

namespace leat::detail {

/// Catches what nobody may do with a reader, writer or pipeline: two tasks that use it at the same
/// time, the second of which would overwrite what the first one waits for; a move or an end while
/// one does; and use of one that was moved from.
///
/// A member of it, in front of what the tasks use. Thread safety: thread-bound.
class one_at_a_time {
 public:
  class use {
   public:
    explicit use(one_at_a_time& o) noexcept : o_(o) {
      LEAT_ASSERT(
          o.state_ != state::moved_from,
          "a reader, writer or pipeline is used that was moved to another place: use that one");
      LEAT_ASSERT(
          o.state_ != state::busy,
          "two tasks use one reader, writer or pipeline at the same time: give each its own");
      o.state_ = state::busy;
    }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() { o_.state_ = state::idle; }

   private:
    one_at_a_time& o_;
  };

  one_at_a_time() = default;
  one_at_a_time(one_at_a_time&& from) noexcept
      : state_(std::exchange(from.state_, state::moved_from)) {
    LEAT_ASSERT(state_ != state::busy,
                "a reader, writer or pipeline is moved while a task uses it");
  }
  one_at_a_time& operator=(one_at_a_time&&) = delete;
  ~one_at_a_time() { require_idle(); }

  /// For a destructor, before it destroys what a task may be using.
  void require_idle() const noexcept {
    LEAT_ASSERT(state_ != state::busy,
                "a reader, writer or pipeline is destroyed while a task uses it");
  }

 private:
  enum class state : unsigned char { idle, busy, moved_from };

  state state_ = state::idle;
};

}  // namespace leat::detail
