#include "leat/sync/detail/biased_word.hpp"

namespace leat::detail {

// The thread that revokes the ownership says so before it leaves the gate. A former owner that
// arrives there waits.
void biased_word::admit_slowly() noexcept {
  const bool as_owner = gate_.lock();
  // release: who sees the word shared sees the last change of the owner.
  if (!as_owner) is_shared_.store(true, std::memory_order_release);
  gate_.unlock(as_owner);
}

}  // namespace leat::detail
