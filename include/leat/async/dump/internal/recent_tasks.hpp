#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "leat/async/task_id.hpp"

namespace LEAT::detail {

/// The last few tasks that called an operation. A task that repeats right after itself or after one
/// other task is not added again, so two alternating tasks do not displace the others.
/// Thread safety: thread-compatible. Cost: a few instructions, no allocation.
class recent_tasks {
 public:
  static constexpr std::size_t limit = 8;

  /// A call outside a task is recorded as task_id().
  [[gnu::always_inline]] void remember(const task_id& task) noexcept {
    if (!repeats(task)) add(task.scope, task.index);
  }
  /// Returns true if remember() would add nothing.
  [[nodiscard, gnu::always_inline]] bool repeats(const task_id& task) const noexcept {
    return task == last_ || task == before_;
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
  // Two values, which are passed in registers.
  [[gnu::noinline]] void add(std::uint64_t scope, std::uint64_t index) noexcept {
    const task_id task{scope, index};
    before_ = last_;
    last_ = task;
    tasks_[noted_++ % limit] = task;
  }

  static constexpr task_id none{~std::uint64_t{0}, ~std::uint64_t{0}};  // no call has this id
  std::array<task_id, limit> tasks_{none, none, none, none, none, none, none, none};
  std::size_t noted_ = 0;
  task_id last_ = none;  // copies of the last two, which are at a fixed place
  task_id before_ = none;
};

}  // namespace LEAT::detail
