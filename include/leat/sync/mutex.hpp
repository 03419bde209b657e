#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <system_error>
#include <utility>

#include "leat/base/asio.hpp"
#include "leat/sync/detail/semaphore_base.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

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
  class [[nodiscard]] guard {
   public:
    /// Creates a guard that holds nothing.
    guard() = default;
    guard(guard&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    guard& operator=(guard&& other) noexcept {
      guard moved(std::move(other));
      std::swap(mutex_, moved.mutex_);
      return *this;
    }
    ~guard() {
      if (mutex_) mutex_->unlock();
    }

    /// Returns true if it holds the lock. A temporary holds it only until the end of its
    /// expression: to keep it, write `if (auto guard = m.try_lock())`.
    [[nodiscard]] explicit operator bool() const noexcept { return mutex_ != nullptr; }
    /// Unlocks the mutex now. Has no effect if it does not hold the lock.
    void unlock() noexcept {
      if (mutex_) std::exchange(mutex_, nullptr)->unlock();
    }

   private:
    friend class mutex;
    explicit guard(mutex& m) noexcept : mutex_(&m) {}
    mutex* mutex_ = nullptr;
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
    if (!take({scheduler::current_task(), where})) return {};
    return guard(*this);
  }

  /// Locks the mutex like lock(), with an Asio completion token; see semaphore::async_acquire().
  ///
  /// Completion:   void(asio_error_code, guard)
  template <asio::completion_token_for<void(asio_error_code, guard)> Token>
  auto async_lock(Token&& token, std::source_location where = std::source_location::current()) {
    return initiate<lock_operation>(where, std::forward<Token>(token), this);
  }

  /// Returns true while the mutex is locked, or about to be locked by a waiting operation.
  [[nodiscard]] bool is_locked() const noexcept { return read_free() == 0; }

 private:
  struct lock_operation : synchronizer_operation<mutex> {
    static const wait_operation::kind wait_kind;

    [[nodiscard]] static std::size_t request() noexcept { return 1; }
    [[nodiscard]] bool try_complete(caller c) const noexcept { return object->take(c); }
    [[nodiscard, gnu::always_inline]] bool try_quickly(caller c) const noexcept {
      return object->take_quickly(c) == detail::state_lock::attempt::done;
    }
    [[gnu::always_inline]] static bool enqueue_quickly(synchronizer_waiter& w) noexcept {
      return object_of(w).state_synchronizer::enqueue_quickly<true>(w, 1);
    }
    [[nodiscard]] guard result(wait_outcome) const noexcept { return guard(*object); }
    void undo(waiter&) const noexcept { object->unlock(); }
  };

  [[nodiscard, gnu::always_inline]] detail::state_lock::attempt take_quickly(caller by) noexcept
      LEAT_NO_ANALYSIS {
    const detail::state_lock::attempt taken = state().take_one();
    if (taken == detail::state_lock::attempt::done) [[likely]] {
      holder_ = {id_of(by), by.where, about_now(by)};
      state().leave();
    }
    return taken;
  }
  [[nodiscard]] bool take(caller by) noexcept;
  void unlock() noexcept {
    using attempt = detail::state_lock::attempt;
    const attempt given = state().give_one_or_enter();
    if (given != attempt::done) [[unlikely]]
      hand_over(given == attempt::refused);
  }
  [[gnu::noinline]] void hand_over(bool is_inside) noexcept;
  void grant(synchronizer_waiter& w) noexcept override LEAT_REQUIRES(mutex_);
  void append_state_to(std::string& text) const override LEAT_REQUIRES(mutex_);
  void inspect(const synchronizer_waiter& w, wait_target& target) const override
      LEAT_REQUIRES(mutex_);

  detail::lock_holder holder_ LEAT_GUARDED_BY(mutex_);  // the last one
};

}  // namespace LEAT
