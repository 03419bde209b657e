#pragma once

#include "leat/core/assert.hpp"

namespace leat::detail {

/// Catches two tasks that use one reader or writer at the same time: the second would overwrite
/// what the first one waits for.
///
/// Thread safety: thread-bound.
class one_at_a_time {
 public:
  class use {
   public:
    explicit use(one_at_a_time& o) noexcept : o_(o) {
      LEAT_ASSERT(!o.busy_,
                  "two tasks use one reader or writer at the same time: give each its own");
      o.busy_ = true;
    }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() { o_.busy_ = false; }

   private:
    one_at_a_time& o_;
  };

 private:
  bool busy_ = false;
};

}  // namespace leat::detail
