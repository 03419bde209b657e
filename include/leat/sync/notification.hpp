#pragma once

#include <source_location>
#include <string>
#include <utility>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/base/asio.hpp"
#include "leat/sync/synchronizer.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT {

/// Wakes one task. If none waits, it is stored until one does: an event that resets itself.
///
///     leat::notification work_arrived("work arrived");
///     work_arrived.notify();            // from any thread
///     co_await work_arrived.wait();     // returns at once if a notification is stored
///
/// Each notification ends one wait, the oldest. At most one is stored: several calls of notify()
/// while no operation waits count as one. So after a wait, process everything that has arrived. To
/// wake all tasks, use an event; to count, a semaphore.
///
/// Lifetime: it must outlive its operations, until their tasks have resumed. The destructor ends
/// the process with a message if an operation waits.
///
/// Thread safety: thread-safe. A waiting task resumes on its own scheduler, never inside notify().
/// Cost: O(1) per operation. No allocation.
class notification final : public synchronizer {
 public:
  /// `name` appears in messages and dumps.
  explicit notification(std::string name = {}) noexcept
      : synchronizer("notification", order::first_in_first_out, std::move(name)) {}
  ~notification() override { unregister(); }

  /// Ends the first wait, or stores the notification if no operation waits.
  void notify() noexcept;
  /// Takes the stored notification. Returns false if there is none.
  [[nodiscard]] bool try_wait() noexcept;

  /// Waits for a notification and takes it.
  ///
  /// Errors:       cancelled.
  /// Cancellation: total. If the task is destroyed before it resumes, the next operation receives
  ///               the notification.
  [[nodiscard]] awaits<void> auto wait(
      std::source_location where = std::source_location::current()) {
    return await_operation<one_wait>(where, this);
  }

  /// Waits like wait(), with an Asio completion token; see semaphore::async_acquire().
  ///
  /// Completion:   void(asio_error_code)
  template <asio::completion_token_for<void(asio_error_code)> Token>
  auto async_wait(Token&& token, std::source_location where = std::source_location::current()) {
    return initiate<one_wait>(where, std::forward<Token>(token), this);
  }

 private:
  struct one_wait : synchronizer_operation<notification> {
    static const wait_operation::kind wait_kind;
    [[nodiscard]] static std::size_t request() noexcept { return 1; }
    [[nodiscard]] bool try_complete(caller) const noexcept { return object->try_wait(); }
    static void result(wait_outcome) noexcept {}
    void undo(waiter&) const noexcept { object->notify(); }
  };

  [[nodiscard]] bool is_ready(const synchronizer_waiter&) const noexcept override
      LEAT_REQUIRES(mutex_) {
    return stored_;
  }
  void grant(synchronizer_waiter&) noexcept override LEAT_REQUIRES(mutex_) { stored_ = false; }
  void append_state_to(std::string& text) const override LEAT_REQUIRES(mutex_);

  bool stored_ LEAT_GUARDED_BY(mutex_) = false;
};

}  // namespace LEAT
