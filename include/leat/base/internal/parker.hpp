#pragma once

#include <condition_variable>
#include <mutex>

#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// Lets one OS thread sleep until another one wakes it. Can be used once.
class parker {
 public:
  void unpark() noexcept {
    // Notified under the lock: the sleeper cannot return and destroy this object in between.
    const std::lock_guard lock(mutex_);
    woken_ = true;
    condition_.notify_one();
  }

  void park() {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return woken_; });
  }

  /// Returns false if the deadline passed first.
  bool park_until(time_point deadline) {
    std::unique_lock lock(mutex_);
    if (deadline == no_deadline) {
      condition_.wait(lock, [this] { return woken_; });
      return true;
    }
    return condition_.wait_until(lock, deadline, [this] { return woken_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool woken_ = false;
};

}  // namespace LEAT::detail
