#pragma once

// The compiler includes this header first in every source of the model tests, including the shipped
// sources. It replaces std::atomic, the fences, membarrier(2), the functions that yield, the
// identity of a thread and the parker's mutex with those of Relacy. The shipped sources stay
// unchanged.

#define LEAT_ASAN 1  // coroutine frames come from the allocator, so that Relacy sees a leak

// First, the headers that must see the real names.
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/error.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "model/system.hpp"

#define atomic model_atomic
#define atomic_signal_fence model_signal_fence
#define nanosleep model::nanosleep
#define sched_yield model::sched_yield
#define syscall model::syscall

#define pause shipped_pause
#include "leat/base/internal/pause.hpp"
#undef pause
namespace leat::detail {
inline void pause(int = 1, model::place at = model::place::current()) noexcept { model::yield(at); }
}  // namespace leat::detail

#define mutex model_mutex
#define condition_variable model_condition_variable
#include "leat/base/internal/parker.hpp"
#undef condition_variable
#undef mutex

#include "leat/base/internal/thread_mutex.hpp"
#define __builtin_thread_pointer ::model::this_thread
#include "leat/base/internal/biased_mutex.hpp"
#undef __builtin_thread_pointer

// The locks of the scope registry are static, which model_atomic cannot be. No thread of a model
// switches inside their critical sections, except in a walk over all scopes.
#include "leat/async/task_scope.hpp"
namespace leat::detail {
class registry_mutex {
 public:
  bool lock() noexcept {
    while (held_) model::yield();
    held_ = true;
    return false;
  }
  bool try_lock_as_owner() noexcept {
    lock();
    return true;
  }
  void lock_for_fork() noexcept { lock(); }
  void unlock(bool) noexcept { held_ = false; }

 private:
  bool held_ = false;
};
class registry_lock {
 public:
  explicit registry_lock(registry_mutex& m) noexcept : mutex_(m) { m.lock(); }
  ~registry_lock() { mutex_.unlock(false); }

 private:
  registry_mutex& mutex_;
};
}  // namespace leat::detail
#define biased_mutex registry_mutex
#define biased_lock registry_lock
#include "async/internal/scope_registry.hpp"
#undef biased_mutex
#undef biased_lock
