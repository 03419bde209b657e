#pragma once

#include <algorithm>
#include <sched.h>
#include <time.h>

#include "leat/base/internal/pause.hpp"

namespace LEAT::detail {

/// How a thread waits for a lock that another thread holds: it spins briefly, then yields its time
/// slice, and finally sleeps, so that a holder of lower priority can run.
///
/// A thread that finds the lock held waits a while before it reads it again. Each read takes the
/// cache line from the holder, and on two CPU cores that dominates the cost of a queue's items.
/// With the pause, the holder adds or removes several items in a row.
class lock_backoff {
 public:
  /// Waits before the next attempt.
  void wait() noexcept {
    constexpr int longest_pause = 64;
    constexpr int spins = 256;   // longer than the longest section takes
    constexpr int yields = 100;  // then the holder was preempted: let it run
    if (spun_ >= spins) {
      spun_ = 0;
      if (yields_ < yields) {
        ++yields_;
        ::sched_yield();
      } else {
        const timespec nap{0, 50'000};  // 50 us: lets a holder of lower priority run
        ::nanosleep(&nap, nullptr);
      }
    }
    pause(pause_);
    spun_ += pause_;
    pause_ = std::min(2 * pause_, longest_pause);
  }

 private:
  int pause_ = 16;  // about a microsecond
  int spun_ = 0;
  int yields_ = 0;
};

}  // namespace LEAT::detail
