#include "leat/core/detail/biased_mutex.hpp"

#include <sched.h>

#include "leat/core/assert.hpp"
#include "leat/core/detail/pause.hpp"
#include "leat/core/detail/sanitizers.hpp"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace leat::detail {
namespace {

// True once the process may use the expedited private membarrier; asked once.
bool have_membarrier() noexcept {
#if defined(__linux__) && defined(__NR_membarrier) && !LEAT_TSAN
  static const bool registered =
      ::syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
  return registered;
#else
  return false;
#endif
}

// A full fence on every running thread of the process.
void membarrier() noexcept {
#if defined(__linux__) && defined(__NR_membarrier) && !LEAT_TSAN
  const long result = ::syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
  LEAT_ASSERT(result == 0, "membarrier failed after it was registered");
#endif
}

}  // namespace

bool biased_mutex::lock_shared_with_others() noexcept {
  const void* owner = owner_.load(std::memory_order_relaxed);
  if (owner == nullptr) {
    // Simulated threads are one to the OS: each of them is somebody else.
    const bool can_own = !pre_emption::simulated() && have_membarrier();
    const void* const self = can_own ? this_thread() : this;
    if (owner_.compare_exchange_strong(owner, self, std::memory_order_relaxed)) {
      if (self != this) return lock();
    }
  }
  common_.lock();
  if (owner_.load(std::memory_order_relaxed) != this) revoke();
  return false;
}

// Called with common_ held, so by one thread at a time.
void biased_mutex::revoke() noexcept {
  owner_.store(this, std::memory_order_relaxed);
  membarrier();
  // acquire: sees all that the owner wrote in its last visit.
  for (int i = 0; busy_.load(std::memory_order_acquire); ++i) {
    if (i < 1000) {
      pause();
    } else {
      ::sched_yield();  // the owner was pre-empted inside: let it run
    }
  }
}

}  // namespace leat::detail
