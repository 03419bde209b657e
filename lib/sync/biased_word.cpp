#include "leat/sync/detail/biased_word.hpp"

namespace LEAT::detail {

// `is_shared_` is set before the gate is left: a former owner that waits at the gate finds it set.
void biased_word::admit() noexcept {
  const bool as_owner = gate_.lock();
  // release: who sees the word shared sees the last change of the owner.
  if (!as_owner) is_shared_.store(true, std::memory_order_release);
  gate_.unlock(as_owner);
}

}  // namespace LEAT::detail
