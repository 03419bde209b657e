#pragma once

#include <list>
#include <vector>

#include "leat/base/detail/thread_mutex.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace leat::detail {

/// Elements that were taken from a queue and of which no batch could be made, for want of memory:
/// kept for the next try. Shared-safe.
class retained_elements {
 public:
  /// The elements of one batch, or of none.
  using batch = std::list<std::vector<tensor_tuple>>;

  /// Those that have waited longest.
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

}  // namespace leat::detail
