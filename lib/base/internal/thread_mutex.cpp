#include "leat/base/internal/thread_mutex.hpp"

#include "base/internal/lock_backoff.hpp"

namespace LEAT::detail {

constinit thread_local preemption_hook::handler* preemption_hook::current_ = nullptr;

void thread_mutex::lock_contended() noexcept {
  for (lock_backoff backoff;;) {
    backoff.wait();
    // Reading first keeps the cache line shared while another thread holds the lock.
    if (!held_.load(std::memory_order_relaxed) &&
        !held_.exchange(true, std::memory_order_acquire)) {
      return;
    }
  }
}

}  // namespace LEAT::detail
