#pragma once

#include <source_location>

#include "leat/sync.hpp"
#include "support/leat_test.hpp"

namespace leat_test {

// The exclusive locks under one interface: each can be held once.

struct semaphore_lock {
  using guard = leat::semaphore::guard;
  static constexpr const char* verb = "acquire";
  static constexpr const char* type = "semaphore";
  leat::semaphore object{1, "thing"};

  auto lock(std::source_location where = std::source_location::current()) {
    return object.acquire(1, where);
  }
  guard try_lock() { return object.try_acquire(); }
};

template <class Mutex>
struct mutex_lock {
  using guard = typename Mutex::guard;
  static constexpr const char* verb = "lock";
  static constexpr const char* type = std::is_same_v<Mutex, leat::mutex> ? "mutex" : "shared_mutex";
  Mutex object{"thing"};

  auto lock(std::source_location where = std::source_location::current()) {
    return object.lock(where);
  }
  guard try_lock() { return object.try_lock(); }
};

/// Returns true if the lock can be taken without a wait.
template <class Lock>
[[nodiscard]] bool is_free(Lock& lock) {
  const auto guard = lock.try_lock();
  return static_cast<bool>(guard);
}

#define LEAT_TEST_LOCKS                                          \
  leat_test::semaphore_lock, leat_test::mutex_lock<leat::mutex>, \
      leat_test::mutex_lock<leat::shared_mutex>

}  // namespace leat_test
