#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "leat/core/task_id.hpp"

namespace leat::detail {

/// The last few tasks that did something, each once, the latest first.
/// Thread safety: distinct-safe. Cost: O(1), no allocation.
class recent_tasks {
 public:
  static constexpr std::ptrdiff_t limit = 8;

  void remember(task_id task) noexcept {
    const auto known = std::find(tasks_.begin(), tasks_.begin() + count_, task);
    if (known == tasks_.begin() + count_ && count_ < limit) ++count_;
    const auto last = std::min(known, tasks_.begin() + limit - 1);
    std::move_backward(tasks_.begin(), last, last + 1);
    tasks_.front() = task;
  }

  [[nodiscard]] std::vector<task_id> all() const {
    return {tasks_.begin(), tasks_.begin() + count_};
  }

 private:
  std::array<task_id, limit> tasks_{};
  std::ptrdiff_t count_ = 0;
};

}  // namespace leat::detail
