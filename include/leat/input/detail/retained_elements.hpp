#pragma once

#include <list>
#include <vector>

#include "leat/base/internal/thread_mutex.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT::detail {

/// Elements that were popped from a queue, but could not be stacked to a batch for lack of memory.
/// The next call uses them first. Thread safety: thread-safe.
class retained_elements {
 public:
  /// A list with the elements of one batch, or an empty list.
  using batch = std::list<std::vector<tensor_tuple>>;

  /// Removes and returns the batch that has waited longest.
  [[nodiscard]] batch take() noexcept {
    batch first;
    const thread_lock lock(mutex_);
    if (!held_.empty()) first.splice(first.begin(), held_, held_.begin());
    return first;
  }
  void give_back(batch& b) noexcept {
    const thread_lock lock(mutex_);
    held_.splice(held_.end(), b);
  }

 private:
  thread_mutex mutex_;
  batch held_ LEAT_GUARDED_BY(mutex_);
};

}  // namespace LEAT::detail
