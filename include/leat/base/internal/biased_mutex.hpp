#pragma once

#include <atomic>

#include "leat/base/internal/thread_annotations.hpp"
#include "leat/base/internal/thread_mutex.hpp"

namespace LEAT::detail {

/// A mutex that costs its first thread no atomic instruction until a second thread locks it.
///
/// Most queues connect tasks of one scheduler, and so of one thread, and an atomic exchange is the
/// most expensive part of their operations. The first thread that locks becomes the owner and
/// enters with two plain stores and two loads. The first other thread revokes this permanently, and
/// from then on this is a plain mutex.
///
/// It is Dekker's protocol with an asymmetric fence: the owner writes busy_ and then reads owner_;
/// the revoking thread writes owner_ and then reads busy_. The owner's fence is for the compiler
/// only. The revoking thread compensates with membarrier(2), which runs a full fence on every
/// thread of the process. So at least one of the two sees the other's write. Without membarrier,
/// and under the thread sanitizer, which cannot see such a fence, no thread becomes the owner.
///
/// A mutex can also be owned from its construction, and its owner can give it up before it shares
/// the mutex with other threads: both cost plain stores.
///
/// lock() returns how the mutex was locked; pass this value to unlock().
class LEAT_CAPABILITY("mutex") biased_mutex {
 public:
  /// The identity of a thread. Another thread may have it after this one has ended, and then counts
  /// as the same thread.
  using thread_id = const void*;
  [[nodiscard]] static thread_id this_thread() noexcept { return __builtin_thread_pointer(); }

  /// Returns true if the calling thread owns the mutex, so that no other thread has locked it.
  [[nodiscard]] bool is_owned_here() const noexcept {
    return owner_.load(std::memory_order_relaxed) == this_thread();
  }

  /// Returns true if the calling thread may own a mutex.
  [[nodiscard]] static bool can_own() noexcept;

  biased_mutex() = default;
  /// Creates a mutex that the thread `owner` owns, or no thread ever if `owner` is null.
  /// Precondition: the calling thread is `owner`, and can_own() has returned true to it.
  explicit biased_mutex(thread_id owner) noexcept : owner_(owner ? owner : this) {}
  biased_mutex(const biased_mutex&) = delete;
  biased_mutex& operator=(const biased_mutex&) = delete;

  /// Returns true if the thread entered as the owner; leave with unlock(true). Returns false if it
  /// did not enter.
  [[nodiscard, gnu::always_inline]] bool try_lock_as_owner() noexcept
      LEAT_TRY_ACQUIRE(true) LEAT_NO_ANALYSIS {
    const void* const self = this_thread();
    if (owner_.load(std::memory_order_relaxed) != self) return false;
    busy_.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (owner_.load(std::memory_order_relaxed) == self) return true;
    busy_.store(false, std::memory_order_release);  // revoked a moment ago
    return false;
  }

  /// Returns true if the thread entered as the owner.
  [[nodiscard]] bool lock() noexcept LEAT_ACQUIRE() LEAT_NO_ANALYSIS {
    return try_lock_as_owner() || lock_shared_with_others();
  }

  /// Locks it for fork(), also against a thread that is about to take the ownership from this one;
  /// that thread would still hold the mutex in the child. Leave with unlock(false). An ownership of
  /// the calling thread remains; any other one is revoked.
  void lock_for_fork() noexcept LEAT_ACQUIRE() LEAT_NO_ANALYSIS;

  /// Returns true if no thread has locked it yet.
  [[nodiscard]] bool never_locked() const noexcept {
    // Relaxed: a lock that happened before this call is seen anyway.
    return owner_.load(std::memory_order_relaxed) == nullptr;
  }

  /// Makes this a plain mutex if the calling thread owns it, without the cost of a revocation.
  /// Precondition: the calling thread is not inside.
  void give_up() noexcept {
    if (!is_owned_here()) return;
    // release: pairs with the acquire load in lock_shared_with_others().
    owner_.store(this, std::memory_order_release);
  }

  [[gnu::always_inline]] void unlock(bool as_owner) noexcept LEAT_RELEASE() LEAT_NO_ANALYSIS {
    if (as_owner) {
      // release: pairs with the acquire load in revoke().
      busy_.store(false, std::memory_order_release);
    } else {
      common_.unlock();
    }
  }

 private:
  [[gnu::cold]] bool lock_shared_with_others() noexcept LEAT_NO_ANALYSIS;
  void revoke() noexcept;

  std::atomic<const void*> owner_{nullptr};  // null: no owner yet; this: no owner any more
  std::atomic<bool> busy_{false};            // the owner is inside
  thread_mutex common_;                      // for all other threads
};

/// Holds a mutex whose lock() returns how it was locked for a scope.
template <class Mutex>
class LEAT_SCOPED_CAPABILITY held_lock {
 public:
  explicit held_lock(Mutex& m) noexcept LEAT_ACQUIRE(m) : mutex_(m), as_owner_(m.lock()) {}
  ~held_lock() LEAT_RELEASE() { mutex_.unlock(as_owner_); }
  held_lock(const held_lock&) = delete;
  held_lock& operator=(const held_lock&) = delete;

 private:
  Mutex& mutex_;
  const bool as_owner_;
};

using biased_lock = held_lock<biased_mutex>;

}  // namespace LEAT::detail
