#pragma once

#include <mutex>
#include <pthread.h>

namespace leat::detail {

/// Makes fork() hold `Mutex`. Otherwise a thread that held it would not exist in the child, where
/// the next lock() would never return. Call it once, when the program starts.
template <std::mutex& Mutex>
int held_during_fork() noexcept {
  return ::pthread_atfork([] { Mutex.lock(); }, [] { Mutex.unlock(); }, [] { Mutex.unlock(); });
}

}  // namespace leat::detail
