#include "leat/base/internal/biased_mutex.hpp"

#include <sched.h>

#include <chrono>

#include "leat/base/internal/pause.hpp"
#include "leat/base/internal/sanitizers.hpp"

#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace LEAT::detail {
namespace {

// Refused: also if a membarrier failed later, because a seccomp filter was installed.
enum : int { unknown, registered, refused };

// Used with relaxed builtins: an owner that misses a refusal is revoked in the slow way. Not a
// std::atomic, which the model tests replace by a type that cannot be static. Not a static with a
// constructor: a child of fork() would wait for the thread that was constructing it.
[[maybe_unused]] int membarrier_state = unknown;

// True if the process may use the expedited private membarrier; registered at the first call.
bool have_membarrier() noexcept {
#if defined(__linux__) && defined(__NR_membarrier) && !LEAT_TSAN
  int state = __atomic_load_n(&membarrier_state, __ATOMIC_RELAXED);
  if (state == unknown) {
    const auto failed = ::syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
    const int next = failed ? refused : registered;
    // Keeps what another thread has stored meanwhile.
    if (__atomic_compare_exchange_n(&membarrier_state, &state, next, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      state = next;
    }
  }
  return state == registered;
#else
  return false;
#endif
}

// Returns after every store that another thread had executed before this call is visible.
//
// A store leaves the store buffer of its CPU within microseconds, or at the latest when the thread
// is interrupted. No instruction of this thread can enforce that for another one, so this waits for
// a time that is longer by orders of magnitude.
[[maybe_unused]] void flush_store_buffers() noexcept {
  constexpr auto enough = std::chrono::milliseconds(20);
  const auto end = std::chrono::steady_clock::now() + enough;
  while (std::chrono::steady_clock::now() < end) ::sched_yield();
}

// A full fence on every running thread of the process.
void membarrier() noexcept {
#if defined(__linux__) && defined(__NR_membarrier) && !LEAT_TSAN
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (::syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  __atomic_store_n(&membarrier_state, refused, __ATOMIC_RELAXED);
  flush_store_buffers();
#endif
}

}  // namespace

// Simulated threads share an OS thread, but each has its own identity.
bool biased_mutex::can_own() noexcept {
  return !preemption_hook::is_simulated() && have_membarrier();
}

bool biased_mutex::lock_shared_with_others() noexcept {
  const void* owner = owner_.load(std::memory_order_relaxed);
  if (owner == nullptr) {
    const void* const self = can_own() ? this_thread() : this;
    // Relaxed: no thread has been inside before, so the first one has nothing to see.
    if (owner_.compare_exchange_strong(owner, self, std::memory_order_relaxed)) {
      if (self != this) return lock();
    }
  }
  common_.lock();
  // acquire: sees all that an owner wrote before give_up().
  if (owner_.load(std::memory_order_acquire) != this) revoke();
  return false;
}

void biased_mutex::lock_for_fork() noexcept {
  common_.lock();
  // acquire: as in lock_shared_with_others().
  const void* const owner = owner_.load(std::memory_order_acquire);
  if (owner != this && owner != this_thread()) revoke();
}

// Called with common_ held, so by one thread at a time.
void biased_mutex::revoke() noexcept {
  // Relaxed: membarrier() is a full fence between this store and the load of busy_, and one on the
  // thread of the owner.
  owner_.store(this, std::memory_order_relaxed);
  membarrier();
  // acquire: sees all that the owner wrote in its last visit.
  for (int i = 0; busy_.load(std::memory_order_acquire); ++i) {
    if (i < 1000) {
      pause();
    } else {
      ::sched_yield();  // the owner was preempted inside: let it run
    }
  }
}

}  // namespace LEAT::detail
