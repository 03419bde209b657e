#include "leat/sync/detail/state_lock.hpp"

#include "base/internal/lock_backoff.hpp"

namespace LEAT::detail {

void state_lock::lock_slowly() noexcept {
  for (lock_backoff backoff;;) {
    if (word_.admits()) {
      backoff.wait();
    } else {
      word_.admit();
    }
    // Reading first keeps the cache line shared while another thread holds the lock.
    if ((word_.load(std::memory_order_relaxed) & held) == 0 && enter()) return;
  }
}

}  // namespace LEAT::detail
