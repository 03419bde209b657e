#include "leat/queue/detail/queue_mutex.hpp"

namespace LEAT::detail {

// A thread that finds the sides in use needs no other lock. The first one that is not the owner
// revokes the ownership, at the gate. Then it takes the sides before it leaves the gate, and a
// former owner that arrives there waits.
bool queue_mutex::lock_sides() noexcept {
  if (is_shared_.load(std::memory_order_acquire)) {
    back_.mutex.lock();
    if (has_sides_) front_.mutex.lock();
    return false;
  }
  if (gate_.lock()) return true;
  back_.mutex.lock();
  if (has_sides_) front_.mutex.lock();
  // release: who sees the sides in use sees what the owner has written.
  is_shared_.store(true, std::memory_order_release);
  gate_.unlock(false);
  return false;
}

void queue_mutex::unlock_sides() noexcept {
  if (has_sides_) front_.mutex.unlock();
  back_.mutex.unlock();
}

}  // namespace LEAT::detail
