#include "leat/core/detail/mutex.hpp"

#include <sched.h>
#include <time.h>

#include "leat/core/detail/pause.hpp"

namespace leat::detail {

constinit thread_local pre_emption::listener* pre_emption::current_ = nullptr;

void mutex::lock_contended() noexcept {
  constexpr int spins = 200;   // about as long as the longest section takes
  constexpr int yields = 100;  // then the holder was pre-empted: let it run
  for (int round = 0;; ++round) {
    // Reading first keeps the cache line shared while somebody else holds the lock.
    for (int i = 0; i < spins; ++i) {
      if (!held_.load(std::memory_order_relaxed) &&
          !held_.exchange(true, std::memory_order_acquire)) {
        return;
      }
      pause();
    }
    if (round < yields) {
      ::sched_yield();
    } else {
      const timespec nap{0, 50'000};  // 50 us: a holder of lower priority gets the processor
      ::nanosleep(&nap, nullptr);
    }
  }
}

}  // namespace leat::detail
