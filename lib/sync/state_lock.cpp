#include "leat/sync/detail/state_lock.hpp"

#include "base/internal/lock_backoff.hpp"

namespace leat::detail {

void state_lock::lock_contended() noexcept {
  for (lock_backoff backoff;;) {
    backoff.wait();
    // Reading first keeps the cache line shared while another thread holds the lock.
    if ((word_.load(std::memory_order_relaxed) & held) == 0 &&
        (word_.fetch_or(held, std::memory_order_acquire) & held) == 0) {
      return;
    }
  }
}

}  // namespace leat::detail
