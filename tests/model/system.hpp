#pragma once

#include <linux/membarrier.h>

#include <ctime>
#include <mutex>

#include "model/atomic.hpp"

namespace model {

/// The model of biased_mutex's one-sided fence. The real fence only orders the compiler at the
/// owner, and is membarrier(2) at the thread that revokes the ownership.
enum class fence_model {
  two_fences,   ///< a sequentially consistent fence on both sides, in the C++ model
  system_wide,  ///< nothing at the owner; at the other, all threads see all earlier writes
};
inline fence_model fences = fence_model::two_fences;

inline void signal_fence(std::memory_order, place at = place::current()) noexcept {
  if (fences == fence_model::system_wide) return;
  const point here;
  rl::atomic_thread_fence(rl::mo_seq_cst, info(at));
}

/// Supports membarrier(2) only.
inline long syscall(long, int command, int, int, place at = place::current()) noexcept {
  if (command != MEMBARRIER_CMD_PRIVATE_EXPEDITED) return 0;
  const point here;
  if (fences == fence_model::system_wide) {
    rl::ctx().sched();
    rl::systemwide_fence(info(at));
  } else {
    rl::atomic_thread_fence(rl::mo_seq_cst, info(at));
  }
  return 0;
}

inline void yield(place at = place::current()) noexcept {
  const point here;
  rl::ctx().yield(1, info(at));
}
inline int sched_yield(place at = place::current()) noexcept {
  yield(at);
  return 0;
}
inline int nanosleep(const timespec*, timespec*, place at = place::current()) noexcept {
  yield(at);
  return 0;
}

/// One char for each modelled thread. Its address is the identity of the thread.
inline char thread_tokens[8];

inline const void* this_thread() noexcept { return &thread_tokens[rl::thread_index()]; }

/// std::mutex. Relacy reports its destruction while a thread holds it or waits for it.
class mutex {
 public:
  mutex() = default;
  void lock(place at = place::current()) {
    const point here;
    mutex_.lock(info(at));
  }
  void unlock(place at = place::current()) {
    const point here;
    mutex_.unlock(info(at));
  }

 private:
  friend class condition_variable;
  rl::mutex mutex_;
};

/// std::condition_variable, with spurious wake-ups.
class condition_variable {
 public:
  condition_variable() = default;
  void notify_one(place at = place::current()) {
    const point here;
    condition_.notify_one(info(at));
  }
  template <class Predicate>
  void wait(std::unique_lock<mutex>& lock, Predicate holds, place at = place::current()) {
    while (!holds()) {
      const point here;
      condition_.wait(lock.mutex()->mutex_, info(at));
    }
  }
  /// Times out at any moment, after a random number of turns.
  template <class Time, class Predicate>
  bool wait_until(std::unique_lock<mutex>& lock, const Time&, Predicate holds,
                  place at = place::current()) {
    for (unsigned turns = rl::rand(6); turns > 0 && !holds(); --turns) {
      lock.mutex()->unlock(at);
      yield(at);
      lock.mutex()->lock(at);
    }
    return holds();
  }

 private:
  rl::condition_variable condition_;
};

}  // namespace model

// The replacements of std::atomic and others in the shipped sources; see prelude.hpp.
namespace std {
template <class T>
using model_atomic = ::model::atomic<T>;
using model_mutex = ::model::mutex;
using model_condition_variable = ::model::condition_variable;
inline void model_signal_fence(memory_order o, source_location at = source_location::current()) {
  ::model::signal_fence(o, at);
}
}  // namespace std
