#pragma once

#include <atomic>

#include "leat/base/internal/preemption_hook.hpp"
#include "leat/base/internal/thread_annotations.hpp"

namespace LEAT::detail {

/// A lock for short critical sections that never wait and call no user code except the moves of a
/// queue's items.
///
/// One byte and one atomic exchange: an uncontended lock and unlock is about a third of what
/// std::mutex costs once a second thread exists, and that is half of a queue operation. The holder
/// can be preempted, so a waiting thread spins only briefly, then yields its time slice, and
/// finally sleeps, so that a holder of lower priority can run.
class LEAT_CAPABILITY("mutex") thread_mutex {
 public:
  thread_mutex() = default;
  thread_mutex(const thread_mutex&) = delete;
  thread_mutex& operator=(const thread_mutex&) = delete;

  void lock() noexcept LEAT_ACQUIRE() {
    preemption_hook::before_lock();
    // acquire: sees everything that the last holder wrote before its release store.
    if (held_.exchange(true, std::memory_order_acquire)) lock_contended();
  }

  // release: publishes the section to the next holder's acquire exchange.
  void unlock() noexcept LEAT_RELEASE() {
    held_.store(false, std::memory_order_release);
    preemption_hook::after_unlock();
  }

 private:
  void lock_contended() noexcept;

  std::atomic<bool> held_{false};
};

/// Holds a mutex for a scope; can unlock it early.
class LEAT_SCOPED_CAPABILITY thread_lock {
 public:
  explicit thread_lock(thread_mutex& m) noexcept LEAT_ACQUIRE(m) : mutex_(m) { m.lock(); }
  ~thread_lock() LEAT_RELEASE() { mutex_.unlock(); }
  thread_lock(const thread_lock&) = delete;
  thread_lock& operator=(const thread_lock&) = delete;

 private:
  thread_mutex& mutex_;
};

}  // namespace LEAT::detail
