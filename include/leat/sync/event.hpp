#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <system_error>
#include <utility>

#include "leat/base/asio.hpp"
#include "leat/sync/detail/state_synchronizer.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

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
class event final : public detail::state_synchronizer {
 public:
  /// Creates an event that is not set. `name` appears in messages and dumps.
  explicit event(std::string name = {}) noexcept
      : state_synchronizer("event", order::as_ready, std::move(name), 0, false) {}
  ~event() override { unregister(); }

  /// Sets the event and wakes all operations that wait.
  void set() noexcept {
    if (!state().set(1)) set_and_wake();
  }
  /// Resets the event: later waits wait for the next set().
  void reset() noexcept {
    if (state().set(0)) [[likely]]
      return;
    const section lock(*this);
    state().set_number(0);
  }
  /// Returns true if the event is set. The call of set() may not have returned: only a wait permits
  /// to destroy the event.
  [[nodiscard]] bool is_set() const noexcept {
    return state().number() != 0;  // sees what was done before set()
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
  /// Completion:   void(asio_error_code)
  template <asio::completion_token_for<void(asio_error_code)> Token>
  auto async_wait(Token&& token, std::source_location where = std::source_location::current()) {
    return initiate<set_operation>(where, std::forward<Token>(token), this);
  }

 private:
  struct set_operation : synchronizer_operation<event> {
    static const wait_operation::kind wait_kind;

    [[nodiscard]] static std::size_t request() noexcept { return 1; }
    [[nodiscard]] bool try_complete(caller) const noexcept {
      const event& e = *object;
      if (!e.is_set()) return false;
      const section lock(e);  // set() may be inside, and the waiter may destroy the event
      return e.is_set();
    }
    [[nodiscard, gnu::always_inline]] bool try_quickly(caller) const noexcept {
      return object->state().is_simply(1);
    }
    [[gnu::always_inline]] static bool enqueue_quickly(synchronizer_waiter& w) noexcept {
      return object_of(w).state_synchronizer::enqueue_quickly<false>(w, 1);
    }
    static void result(wait_outcome) noexcept {}
    static void undo(waiter&) noexcept {}
  };

  [[nodiscard]] bool is_ready(const synchronizer_waiter&) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return is_set();
  }
  void grant(synchronizer_waiter&) noexcept override LEAT_REQUIRES(mutex_) {}
  void append_state_to(std::string& text) const override LEAT_REQUIRES(mutex_);
  void inspect(const synchronizer_waiter&, wait_target&) const override LEAT_REQUIRES(mutex_) {}

  [[gnu::noinline]] void set_and_wake() noexcept;
};

}  // namespace LEAT
