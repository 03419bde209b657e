#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <system_error>
#include <utility>

#include "leat/async/dump/internal/recent_tasks.hpp"
#include "leat/base/asio.hpp"
#include "leat/sync/detail/semaphore_base.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

/// A lock that many readers share or one writer holds, across a `co_await`.
///
///     leat::shared_mutex table_mutex("table");
///     auto reading = co_await table_mutex.lock_shared();  // with other readers
///     auto writing = co_await table_mutex.lock();         // alone
///
/// Requests are served in the order of their arrival, so neither readers nor writers wait forever.
/// A reader that arrives after a waiting writer waits for that writer. So a task must not call
/// lock_shared() while it holds a shared lock of the same mutex: if a writer waits in between, the
/// two wait for each other. A dump shows this cycle. A task that calls lock() while it holds a
/// shared lock waits for itself.
///
/// Lifetime: like mutex.
///
/// Thread safety: thread-safe. A waiting task resumes on its own scheduler, never inside the call
/// that unlocked the mutex.
/// Cost: like mutex.
class shared_mutex final : public detail::semaphore_base {
 public:
  /// The exclusive lock. Movable; the destructor unlocks, on any thread.
  class [[nodiscard]] guard : public detail::semaphore_base::guard_base {
   public:
    /// Creates a guard that holds nothing.
    guard() = default;
    /// Unlocks the mutex now. Has no effect if it does not hold the lock.
    void unlock() noexcept { give_back(); }

   private:
    friend class shared_mutex;
    explicit guard(shared_mutex& m) noexcept : guard_base(m, everything) {}
  };

  /// A shared lock. Movable; the destructor unlocks, on any thread.
  class [[nodiscard]] shared_guard : public detail::semaphore_base::guard_base {
   public:
    /// Creates a guard that holds nothing.
    shared_guard() = default;
    /// Unlocks the mutex now. Has no effect if it does not hold the lock.
    void unlock() noexcept { give_back(); }

   private:
    friend class shared_mutex;
    explicit shared_guard(shared_mutex& m) noexcept : guard_base(m, 1) {}
  };

  /// Creates an unlocked mutex. `name` appears in messages and dumps.
  explicit shared_mutex(std::string name = {}) noexcept
      : semaphore_base("shared_mutex", everything, everything, std::move(name)) {}
  ~shared_mutex() override LEAT_NO_ANALYSIS {
    check_unheld(free() == 0 ? &writer_ : nullptr);
    unregister();
  }

  /// Locks the mutex exclusively, waiting until all who requested it earlier have unlocked it.
  ///
  /// Errors:       cancelled.
  /// Cancellation: total: a cancelled lock() does not lock the mutex. Later readers that waited for
  ///               it are served.
  [[nodiscard]] awaits<guard> auto lock(
      std::source_location where = std::source_location::current()) {
    return await_operation<lock_operation<everything, guard>>(where, this);
  }
  /// Locks the mutex together with other readers, waiting until all writers who requested it
  /// earlier have unlocked it. Errors and cancellation: like lock().
  [[nodiscard]] awaits<shared_guard> auto lock_shared(
      std::source_location where = std::source_location::current()) {
    return await_operation<lock_operation<1, shared_guard>>(where, this);
  }

  /// Locks the mutex exclusively without waiting. Returns a guard that holds nothing if anyone
  /// holds the mutex or an earlier request waits.
  [[nodiscard]] guard try_lock(
      std::source_location where = std::source_location::current()) noexcept {
    return try_once<everything, guard>(where);
  }
  /// Locks the mutex with other readers without waiting. Returns a guard that holds nothing if a
  /// writer holds the lock or an earlier request waits.
  [[nodiscard]] shared_guard try_lock_shared(
      std::source_location where = std::source_location::current()) noexcept {
    return try_once<1, shared_guard>(where);
  }

  /// Locks the mutex like lock(), with an Asio completion token; see semaphore::async_acquire().
  ///
  /// Completion:   void(asio_error_code, guard)
  template <asio::completion_token_for<void(asio_error_code, guard)> Token>
  auto async_lock(Token&& token, std::source_location where = std::source_location::current()) {
    return initiate<lock_operation<everything, guard>>(where, std::forward<Token>(token), this);
  }
  /// Locks the mutex like lock_shared(), with an Asio completion token.
  ///
  /// Completion:   void(asio_error_code, shared_guard)
  template <asio::completion_token_for<void(asio_error_code, shared_guard)> Token>
  auto async_lock_shared(Token&& token,
                         std::source_location where = std::source_location::current()) {
    return initiate<lock_operation<1, shared_guard>>(where, std::forward<Token>(token), this);
  }

 private:
  // A shared lock takes one permit, an exclusive one all.
  static constexpr std::size_t everything = std::size_t{1} << 30;

  static const wait_operation::kind exclusive_kind;
  static const wait_operation::kind shared_kind;

  template <std::size_t Count, class Guard>
  struct lock_operation : synchronizer_operation<shared_mutex> {
    static constexpr const wait_operation::kind& wait_kind =
        Count == 1 ? shared_kind : exclusive_kind;

    [[nodiscard]] static std::size_t request() noexcept { return Count; }
    [[nodiscard]] bool try_complete(caller c) const noexcept {
      return this->object->take(Count, c);
    }
    [[nodiscard]] bool try_quickly(caller c) const noexcept {
      return this->object->take_quickly(Count, c) == detail::state_lock::attempt::done;
    }
    [[gnu::always_inline]] static bool enqueue_quickly(synchronizer_waiter& w) noexcept {
      using operation = synchronizer_operation<shared_mutex>;
      return operation::object_of(w).state_synchronizer::template enqueue_quickly<true>(w, Count);
    }
    [[nodiscard]] Guard result(wait_outcome) const noexcept { return Guard(*this->object); }
    void undo(waiter&) const noexcept { this->object->release_held(Count); }
  };

  template <std::size_t Count, class Guard>
  Guard try_once(const std::source_location& where) noexcept {
    if (!take(Count, {scheduler::current_task(), where})) return {};
    return Guard(*this);
  }

  [[nodiscard]] detail::state_lock::attempt take_quickly(std::size_t count,
                                                         caller by) noexcept LEAT_NO_ANALYSIS {
    detail::state_lock::word left = 0;
    const detail::state_lock::attempt taken = state().take(count, left);
    if (taken == detail::state_lock::attempt::done) [[likely]] {
      note_holder(count, {id_of(by), by.where, about_now(by)});
      state().leave(left);
    }
    return taken;
  }
  [[nodiscard]] bool take(std::size_t count, caller by) noexcept;
  void note_holder(std::size_t count, const detail::lock_holder& h) noexcept LEAT_REQUIRES(mutex_) {
    if (count == everything) {
      writer_ = h;
    } else {
      readers_.remember(h.task);
    }
  }
  void grant(synchronizer_waiter& w) noexcept override LEAT_REQUIRES(mutex_);
  [[nodiscard]] std::size_t requested(const synchronizer_waiter&) const noexcept override {
    return 1;
  }
  void append_state_to(std::string& text) const override LEAT_REQUIRES(mutex_);
  void inspect(const synchronizer_waiter& w, wait_target& target) const override
      LEAT_REQUIRES(mutex_);

  detail::lock_holder writer_ LEAT_GUARDED_BY(mutex_);    // the last one
  detail::recent_tasks readers_ LEAT_GUARDED_BY(mutex_);  // the last ones
};

}  // namespace LEAT
