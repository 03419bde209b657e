#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "leat/base/detail/mutex.hpp"

namespace leat::detail {

/// Runs that were used up, for the memory that they have: who hands a run to another task takes one
/// of these for the next. So there are no more of them than were under way at a time.
///
/// Thread safety: shared-safe.
template <class Run>
class spent_runs {
 public:
  /// `most`: more are not kept. Errors: std::bad_alloc.
  explicit spent_runs(std::size_t most) { runs_.reserve(most); }

  /// An empty run.
  [[nodiscard]] Run take() {
    const thread_lock lock(mutex_);
    if (runs_.empty()) return Run();
    Run run = std::move(runs_.back());
    runs_.pop_back();
    return run;
  }

  void give_back(Run&& run) noexcept {
    run.clear();  // not under the lock, since elements may do anything as they go
    const thread_lock lock(mutex_);
    if (runs_.size() < runs_.capacity()) runs_.push_back(std::move(run));
  }

 private:
  thread_mutex mutex_;
  std::vector<Run> runs_ LEAT_GUARDED_BY(mutex_);
};

}  // namespace leat::detail
