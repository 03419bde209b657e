#pragma once

#include <pthread.h>

#include "leat/base/internal/preemption_hook.hpp"
#include "leat/base/internal/thread_annotations.hpp"

namespace LEAT::detail {

/// Makes fork() hold `Lock`. Otherwise a thread that held it would not exist in the child, where
/// the next lock() would never return. Call it once, when the program starts.
///
/// The order of several such locks is not known. If a thread waits for one of them while it holds
/// another one, `Lock` has to be an object that locks both.
template <auto& Lock>
int held_during_fork() noexcept {
  constexpr auto unlock = []() LEAT_NO_ANALYSIS {
    const preemption_hook::disabled in_handler;
    Lock.unlock();
  };
  return ::pthread_atfork(
      []() LEAT_NO_ANALYSIS {
        const preemption_hook::disabled in_handler;
        Lock.lock();
      },
      unlock, unlock);
}

}  // namespace LEAT::detail
