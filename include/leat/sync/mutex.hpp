#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <system_error>
#include <utility>

#include <asio/async_result.hpp>

#include "leat/sync/detail/semaphore_base.hpp"

namespace leat {

/// A lock that a task may hold across a `co_await`.
///
///     leat::mutex file_mutex("index file");
///     auto lock = co_await file_mutex.lock();
///     co_await file.write(header);
///     co_await file.write(body);                 // no other task writes in between
///
/// Tasks of one scheduler never run at the same time, so code without a `co_await` needs no mutex
/// among them.
///
/// Tasks receive the lock in the order in which they requested it. A task that locks a mutex which
/// it already holds waits for itself; a dump shows this cycle. For each task that waits, a dump
/// names the holder of the mutex, with the time and the place at which it locked.
///
/// Lifetime: the mutex must outlive its operations and guards. The destructor ends the process with
/// a message if an operation waits or a guard holds the lock.
///
/// Thread safety: thread-safe. A waiting task resumes on its own scheduler, never inside the call
/// that unlocked the mutex.
/// Cost: like semaphore, and the record of the holder. Under contention each lock costs one
/// resumption, because the mutex is handed over in order.
class mutex final : public detail::semaphore_base {
 public:
  /// The lock of a mutex. Movable; the destructor unlocks, on any thread.
  class [[nodiscard]] guard : public detail::semaphore_base::guard_base {
   public:
    /// Creates a guard that holds nothing.
    guard() = default;
    /// Unlocks the mutex now. Has no effect if it does not hold the lock.
    void unlock() noexcept { give_back(); }

   private:
    friend class mutex;
    explicit guard(mutex& m) noexcept : guard_base(m, 1) {}
  };

  /// Creates an unlocked mutex. `name` appears in messages and dumps.
  explicit mutex(std::string name = {}) noexcept : semaphore_base("mutex", 1, 1, std::move(name)) {}
  ~mutex() override LEAT_NO_ANALYSIS {
    check_unheld(&holder_);
    unregister();
  }

  /// Locks the mutex, waiting until all who requested it earlier have unlocked it.
  ///
  /// Errors:       cancelled.
  /// Cancellation: total: a cancelled lock() does not lock the mutex.
  [[nodiscard]] awaits<guard> auto lock(
      std::source_location where = std::source_location::current()) {
    return await_operation<lock_operation>(where, this);
  }

  /// Locks the mutex without waiting. Returns a guard that holds nothing if the mutex is locked.
  [[nodiscard]] guard try_lock(
      std::source_location where = std::source_location::current()) noexcept {
    if (!lock_operation::try_lock(*this, {scheduler::current_task(), where})) return {};
    return guard(*this);
  }

  /// Locks the mutex like lock(), with an Asio completion token; see semaphore::async_acquire().
  ///
  /// Completion:   void(std::error_code, guard)
  template <asio::completion_token_for<void(std::error_code, guard)> Token>
  auto async_lock(Token&& token, std::source_location where = std::source_location::current()) {
    return initiate<lock_operation>(where, std::forward<Token>(token), this);
  }

  /// Returns true while the mutex is locked, or about to be locked by a waiting operation.
  [[nodiscard]] bool is_locked() const noexcept {
    const detail::biased_lock lock(mutex_);
    return free_ == 0;
  }

 private:
  struct lock_operation : synchronizer_operation<mutex> {
    static const wait_operation::kind wait_kind;

    [[nodiscard]] static std::size_t request() noexcept { return 1; }
    [[nodiscard]] bool try_complete(caller c) const noexcept { return try_lock(*object, c); }
    // Not inlined, so that `caller` is passed in registers: g++ would copy it through memory.
    [[nodiscard, gnu::noinline]] static bool try_lock(mutex& m,
                                                      caller caller) noexcept LEAT_NO_ANALYSIS {
      if (!m.mutex_.try_lock_as_owner()) [[unlikely]]
        return m.try_lock_among_threads(caller);
      const bool taken = m.take_for(caller);
      m.mutex_.unlock(true);
      return taken;
    }
    [[nodiscard]] guard result(wait_outcome) const noexcept { return guard(*object); }
    void undo(waiter&) const noexcept { object->release_held(1); }
  };

  bool take_for(caller caller) noexcept LEAT_REQUIRES(mutex_) {
    if (!try_take(1)) return false;
    holder_ = {id_of(caller), caller.where, about_now(caller)};
    return true;
  }
  bool try_lock_among_threads(caller caller) noexcept;
  void grant(synchronizer_waiter& w) noexcept override LEAT_REQUIRES(mutex_);
  void append_state_to(std::string& text) const override LEAT_REQUIRES(mutex_);
  void inspect(const synchronizer_waiter& w, wait_target& target) const override
      LEAT_REQUIRES(mutex_);

  detail::lock_holder holder_ LEAT_GUARDED_BY(mutex_);  // the last one
};

}  // namespace leat
