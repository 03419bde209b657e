#pragma once

#include <atomic>
#include <cstddef>
#include <source_location>
#include <string>
#include <system_error>
#include <utility>

#include <asio/async_result.hpp>

#include "leat/sync/synchronizer.hpp"

namespace leat {

/// A flag for which any number of tasks can wait. It stays set until it is reset.
///
///     leat::event ready("index loaded");
///     co_await ready.wait();  // in tasks: returns at once if it is set
///     ready.set();            // wakes all tasks that wait
///
/// set() wakes the operations that wait at this moment. A wait that begins after a later reset()
/// waits for the next set(). To wake one task, use a notification.
///
/// Lifetime: the event must outlive its operations, until their tasks have resumed. The destructor
/// ends the process with a message if an operation waits.
///
/// Thread safety: thread-safe. A waiting task resumes on its own scheduler, never inside set().
/// Cost: set() takes O(1) for each waiting operation, all others O(1). No allocation.
class event final : public synchronizer {
 public:
  /// Creates an event that is not set. `name` appears in messages and dumps.
  explicit event(std::string name = {}) noexcept
      : synchronizer("event", order::as_ready, std::move(name)) {}
  ~event() override { unregister(); }

  /// Sets the event and wakes all operations that wait.
  void set() noexcept;
  /// Resets the event: later waits wait for the next set().
  void reset() noexcept {
    const detail::biased_lock lock(mutex_);
    set_.store(false, std::memory_order_relaxed);
  }
  /// Returns true if the event is set. The call of set() may not have returned: only a wait permits
  /// to destroy the event.
  [[nodiscard]] bool is_set() const noexcept {
    // acquire: sees what was done before set(). Without the lock, because a wait that finds the
    // event not set looks again under the lock.
    return set_.load(std::memory_order_acquire);
  }

  /// Waits until the event is set.
  ///
  /// Errors:       cancelled.
  /// Cancellation: total.
  [[nodiscard]] awaits<void> auto wait(
      std::source_location where = std::source_location::current()) {
    return await_operation<set_operation>(where, this);
  }

  /// Waits like wait(), with an Asio completion token; see semaphore::async_acquire().
  ///
  /// Completion:   void(std::error_code)
  template <asio::completion_token_for<void(std::error_code)> Token>
  auto async_wait(Token&& token, std::source_location where = std::source_location::current()) {
    return initiate<set_operation>(where, std::forward<Token>(token), this);
  }

 private:
  struct set_operation : synchronizer_operation<event> {
    static const wait_operation::kind wait_kind;

    [[nodiscard]] static std::size_t request() noexcept { return 1; }
    // Takes the lock: set() has then released it, and the waiter may destroy the event.
    [[nodiscard]] bool try_complete(caller) const noexcept {
      event& e = *object;
      if (!e.is_set()) return false;
      const detail::biased_lock lock(e.mutex_);
      return e.is_set();
    }
    static void result(wait_outcome) noexcept {}
    static void undo(waiter&) noexcept {}
  };

  [[nodiscard]] bool is_ready(const synchronizer_waiter&) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return set_.load(std::memory_order_relaxed);
  }
  void grant(synchronizer_waiter&) noexcept override LEAT_REQUIRES(mutex_) {}
  void append_state_to(std::string& text) const override LEAT_REQUIRES(mutex_);
  void inspect(const synchronizer_waiter&, wait_target&) const override LEAT_REQUIRES(mutex_) {}

  std::atomic<bool> set_{false};  // changes under the lock
};

}  // namespace leat
