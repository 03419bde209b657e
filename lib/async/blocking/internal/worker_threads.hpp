#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "leat/base/clock.hpp"

namespace LEAT::detail {

/// Threads that are started as needed, and that execute the items of a list. The derived class
/// has the list, which mutex() protects.
///
/// An item for which no thread is idle and none may be started waits until a thread has finished
/// another one. The threads are not joined: they end when they have been idle for a time, or with
/// the process. std::exit() waits for none of them.
///
/// Thread safety: thread-safe.
class worker_threads {
 public:
  worker_threads(const worker_threads&) = delete;
  worker_threads& operator=(const worker_threads&) = delete;

  /// Returns false in a child of fork(), which has none of the threads. Nothing else may be called
  /// there: a thread of the parent may have held the lock.
  [[nodiscard]] bool is_in_its_process() const noexcept;

 protected:
  using lock_type = std::unique_lock<std::mutex>;

  /// At most `limit` threads, which are named `name`. A thread that was idle for `idle_limit` ends;
  /// if it is zero, none does.
  worker_threads(std::string name, std::size_t limit, duration idle_limit);
  virtual ~worker_threads() = default;

  [[nodiscard]] std::mutex& mutex() const noexcept { return mutex_; }
  // With the lock.
  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t thread_count() const noexcept { return threads_; }
  [[nodiscard]] std::size_t idle_count() const noexcept { return idle_count_; }

  /// Wakes or starts a thread for an item that was added under `lock`, which it unlocks. At most
  /// one thread is woken. Returns false, with the lock held, if there is no thread and the system
  /// starts none.
  [[nodiscard]] bool call_thread(lock_type& lock) noexcept;

  /// Ends the threads as soon as the list is empty, and then destroys this object, which `new` has
  /// created. Returns immediately.
  void end_and_delete() noexcept;

 private:
  struct idle_thread;

  [[nodiscard]] virtual bool has_items() const noexcept = 0;
  // Removes the next item, and executes it without the lock. Precondition: there is one.
  virtual void execute_next(lock_type& lock) noexcept = 0;

  void start_one() noexcept;
  void work() noexcept;
  [[nodiscard]] bool wait_for_call(lock_type& lock, idle_thread& self) noexcept;
  void remove_idle(idle_thread& thread) noexcept;

  const unsigned generation_;
  const std::string name_;
  const std::size_t limit_;
  const duration idle_limit_;
  mutable std::mutex mutex_;
  std::size_t threads_ = 0;
  std::size_t idle_count_ = 0;
  idle_thread* idle_ = nullptr;  // a stack: the others end after some time
  bool ends_ = false;
};

}  // namespace LEAT::detail
