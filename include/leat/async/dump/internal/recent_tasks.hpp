#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "leat/async/task_id.hpp"

namespace leat::detail {

/// The last few tasks that called an operation. A task that repeats right after itself or after one
/// other task is not added again, so two alternating tasks do not displace the others.
/// Thread safety: thread-compatible. Cost: a few instructions, no allocation.
class recent_tasks {
 public:
  static constexpr std::size_t limit = 8;

  /// A call outside a task is recorded as task_id().
  [[gnu::always_inline]] void remember(const task_id& task) noexcept {
    if (tasks_[newest_] == task || tasks_[(newest_ - 1) % limit] == task) return;
    newest_ = noted_++ % limit;
    tasks_[newest_] = task;
  }

  /// The tasks, each once, the latest noted first.
  [[nodiscard]] std::vector<task_id> all() const {
    std::vector<task_id> found;
    for (std::size_t back = 1; back <= std::min(noted_, limit); ++back) {
      const task_id& task = tasks_[(noted_ - back) % limit];
      if (std::find(found.begin(), found.end(), task) == found.end()) found.push_back(task);
    }
    return found;
  }

 private:
  static constexpr task_id none{~std::uint64_t{0}, ~std::uint64_t{0}};  // no call has this id
  std::array<task_id, limit> tasks_{none, none, none, none, none, none, none, none};
  std::size_t noted_ = 0;
  std::size_t newest_ = 0;  // the slot of the last one
};

}  // namespace leat::detail
