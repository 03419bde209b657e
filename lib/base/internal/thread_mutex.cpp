#include "leat/base/internal/thread_mutex.hpp"

#include <algorithm>
#include <sched.h>
#include <time.h>

#include "leat/base/internal/pause.hpp"

namespace leat::detail {

constinit thread_local preemption_hook::handler* preemption_hook::current_ = nullptr;

// A thread that finds the lock held waits a while before it reads it again. Each read takes the
// cache line from the holder, and on two CPU cores that dominates the cost of a queue's items. With
// the pause, the holder adds or removes several items in a row.
void thread_mutex::lock_contended() noexcept {
  constexpr int first_wait = 16;  // pauses: about a microsecond
  constexpr int longest_wait = 64;
  constexpr int spins = 256;   // longer than the longest section takes
  constexpr int yields = 100;  // then the holder was preempted: let it run
  int wait = first_wait;
  for (int round = 0;; ++round) {
    for (int i = 0; i < spins; i += wait, wait = std::min(2 * wait, longest_wait)) {
      pause(wait);
      // Reading first keeps the cache line shared while another thread holds the lock.
      if (!held_.load(std::memory_order_relaxed) &&
          !held_.exchange(true, std::memory_order_acquire)) {
        return;
      }
    }
    if (round < yields) {
      ::sched_yield();
    } else {
      const timespec nap{0, 50'000};  // 50 us: lets a holder of lower priority run
      ::nanosleep(&nap, nullptr);
    }
  }
}

}  // namespace leat::detail
