#pragma once

#include <cstddef>
#include <limits>
#include <source_location>
#include <string>
#include <system_error>
#include <utility>

#include "leat/async/dump/internal/recent_tasks.hpp"
#include "leat/base/asio.hpp"
#include "leat/sync/detail/semaphore_base.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

/// A number of permits, for limiting how many tasks do something at the same time.
///
///     leat::semaphore connections(8, "connections");
///     auto permit = co_await connections.acquire();  // waits while all 8 are taken
///     co_await download(url);                        // the guard returns the permit at its end
///
/// Operations are served in the order of their arrival. A request for many permits is never
/// overtaken by smaller ones, so it does not wait forever.
///
/// Lifetime: the semaphore must outlive its operations and guards. The destructor ends the process
/// with a message if an operation waits or a guard holds permits.
///
/// Thread safety: thread-safe. A waiting task resumes on its own scheduler, never inside the call
/// that released the permits.
/// Cost: O(1), without an allocation. The first wait on a semaphore adds it to the list for dumps.
/// As long as one thread uses the semaphore, it executes no atomic instruction. The first operation
/// of a second thread takes some microseconds, for a system call. From then on, an operation that
/// need not wait executes two atomic instructions, one of them in the guard.
class semaphore final : public detail::semaphore_base {
 public:
  /// Permits that a task holds. Movable; the destructor returns them, on any thread.
  class [[nodiscard]] guard : public detail::semaphore_base::guard_base {
   public:
    /// Creates a guard that holds nothing.
    guard() = default;

    /// Returns the number of permits that it holds.
    [[nodiscard]] std::size_t count() const noexcept { return guard_base::count(); }
    /// Returns the permits now. Has no effect if it holds none.
    void release() noexcept { give_back(); }
    /// Discards the permits: the semaphore has fewer permits from now on.
    void forget() noexcept { guard_base::forget(); }

   private:
    friend class semaphore;
    using guard_base::guard_base;
  };

  /// Creates a semaphore. `permits` is the number of free permits and the most that there can be.
  /// `name` appears in messages and dumps. Errors: invalid_argument if `permits` is 0.
  explicit semaphore(std::size_t permits, std::string name = {})
      : semaphore(permits, permits, std::move(name)) {}

  /// Creates a semaphore with `permits` free permits, of which there can be `maximum`, but no more
  /// than 2^60 - 1.
  /// Errors: invalid_argument if `maximum` is 0 or less than `permits`.
  semaphore(std::size_t permits, std::size_t maximum, std::string name = {});
  ~semaphore() override {
    check_unheld(nullptr);
    unregister();
  }

  /// Acquires `count` permits, waiting until that many are free and all earlier requests have been
  /// served.
  ///
  /// Returns a guard, which converts to false if the semaphore is closed.
  ///
  /// Errors:       cancelled; invalid_argument if `count` is 0 or more than maximum().
  /// Cancellation: total: a cancelled acquire takes no permit. If it was the first to wait, later
  ///               ones may be served.
  [[nodiscard]] awaits<guard> auto acquire(
      std::size_t count = 1, std::source_location where = std::source_location::current()) {
    return await_operation<acquire_operation>(where, *this, count);
  }

  /// Acquires `count` permits without waiting. Returns a guard that holds nothing if too few are
  /// free, if other requests wait, or if the semaphore is closed.
  ///
  /// Errors: invalid_argument, as in acquire().
  [[nodiscard]] guard try_acquire(std::size_t count = 1) {
    acquire_operation operation(*this, count);
    if (!operation.try_complete(caller{scheduler::current_task()})) return {};
    return operation.result(wait_outcome::done);
  }

  /// Acquires `count` permits like acquire(), with an Asio completion token.
  ///
  /// Completion:   void(asio_error_code, guard), on the handler's executor, never inside this call
  ///               or another call on the semaphore.
  /// Errors:       asio::error::operation_aborted (== errc::cancelled); this call throws
  ///               invalid_argument.
  /// Cancellation: total until the handler is called: permits that it has received return to the
  ///               semaphore.
  template <asio::completion_token_for<void(asio_error_code, guard)> Token>
  auto async_acquire(std::size_t count, Token&& token,
                     std::source_location where = std::source_location::current()) {
    return initiate<acquire_operation>(where, std::forward<Token>(token),
                                       acquire_operation(*this, count));
  }

  /// Adds `count` permits, up to maximum() free ones, and serves the waiting operations. For
  /// permits that no guard holds, such as notifications. Returns false if there would be more: the
  /// semaphore then has maximum() free permits. It discards what a guard returns beyond that.
  bool release(std::size_t count = 1) noexcept { return add_permits(count); }

  /// Closes the semaphore: all waiting and later operations return a guard that holds nothing.
  /// Guards that hold permits remain valid. Returns false if it was closed before.
  bool close() noexcept;

  /// Returns the number of free permits.
  [[nodiscard]] std::size_t available() const noexcept { return read_free(); }
  /// Returns the largest number of permits that there can be.
  [[nodiscard]] std::size_t maximum() const noexcept { return maximum_; }
  /// Returns true after close().
  [[nodiscard]] bool is_closed() const noexcept {
    const section lock(*this);
    return closed_;
  }

 private:
  struct acquire_operation : synchronizer_operation<semaphore> {
    static const wait_operation::kind wait_kind;

    acquire_operation(semaphore& s, std::size_t n) : synchronizer_operation(&s), permits(n) {
      if (n == 0 || n > s.maximum_) [[unlikely]]
        s.throw_impossible(n);
    }
    [[nodiscard]] std::size_t request() const noexcept { return permits; }
    [[nodiscard]] bool try_complete(caller c) const noexcept { return object->take(permits, c); }
    [[nodiscard, gnu::always_inline]] bool try_quickly(caller c) const noexcept {
      return object->take_quickly(permits, c) == detail::state_lock::attempt::done;
    }
    [[gnu::always_inline]] static bool enqueue_quickly(synchronizer_waiter& w) noexcept {
      return object_of(w).state_synchronizer::enqueue_quickly<true>(w, w.request());
    }
    [[nodiscard]] guard result(wait_outcome o) const noexcept {
      return o == wait_outcome::done ? guard(*object, permits) : guard();
    }
    void undo(waiter&) const noexcept { object->release_held(permits); }

    std::size_t permits;
  };

  [[noreturn, gnu::cold]] void throw_impossible(std::size_t count) const;
  [[nodiscard, gnu::always_inline]] detail::state_lock::attempt take_quickly(
      std::size_t count, caller by) noexcept LEAT_NO_ANALYSIS {
    detail::state_lock::word left = 0;
    const detail::state_lock::attempt taken = state().take(count, left);
    if (taken == detail::state_lock::attempt::done) [[likely]] {
      holders_.remember(id_of(by));
      state().leave(left);
    }
    return taken;
  }
  [[nodiscard]] bool take(std::size_t count, caller by) noexcept;
  void grant(synchronizer_waiter& w) noexcept override LEAT_REQUIRES(mutex_);
  void append_state_to(std::string& text) const override LEAT_REQUIRES(mutex_);
  void inspect(const synchronizer_waiter& w, wait_target& target) const override
      LEAT_REQUIRES(mutex_);

  detail::recent_tasks holders_ LEAT_GUARDED_BY(mutex_);  // the tasks that acquired permits last
};

}  // namespace LEAT
