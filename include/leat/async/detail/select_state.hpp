#pragma once

#include <atomic>
#include <cstddef>
#include <iosfwd>
#include <source_location>
#include <system_error>

#include "leat/async/wait_operation.hpp"

namespace leat::detail {

/// One select in progress: the wait of its coroutine, and which of its operations has won.
///
/// An operation that could complete claims the select first, under the lock of the object that
/// it waits on. One claim succeeds. An operation that has lost has moved nothing and leaves its
/// wait queue; the winner completes, and wakes the select.
class select_state : public wait_operation {
 public:
  static constexpr int nobody = -1;
  static constexpr int stop = -2;   // the task was asked to stop
  static constexpr int error = -3;  // an operation could not start

  /// Returns true if operation `index` may complete; then no other one will.
  /// Thread safety: thread-safe.
  [[nodiscard]] bool claim(int index) noexcept {
    int expected = nobody;
    // Relaxed: it only decides the winner; the wake publishes what the winner moves.
    return winner_.compare_exchange_strong(expected, index, std::memory_order_relaxed,
                                           std::memory_order_relaxed);
  }
  /// Replaces the winner by an irrevocable operation that had an effect although another operation
  /// had won. Call it after all operations are over.
  void replace_winner(int index) noexcept { winner_.store(index, std::memory_order_relaxed); }

  [[nodiscard]] int winner() const noexcept { return winner_.load(std::memory_order_relaxed); }

  /// The task that waits; null for another coroutine.
  [[nodiscard]] const task_context* task() const noexcept { return context_; }

 protected:
  /// The functions of a select that depend on the types of its operations.
  struct functions {
    /// Describes the operations.
    void (*describe)(const select_state&, std::ostream&);
    /// Called when there is a winner. Returns true if an irrevocable operation is pending; it has
    /// been asked to end and then wakes the select again.
    bool (*cancel_irrevocable)(select_state&) noexcept;
    /// Returns true while code outside leat uses the memory of an operation.
    bool (*uses_memory)(const select_state&) noexcept;
  };

  select_state(const functions& f, const std::source_location& where) noexcept
      : wait_operation(select_kind, where), functions_(f) {}
  ~select_state() = default;

  /// Makes wake() wait for the irrevocable operation before the coroutine resumes. Call it after
  /// begin_wait().
  void settle_before_resuming() noexcept { run_ = &select_state::settle; }

 private:
  friend class leat::wait_operation;

  static void settle(work_item& item) noexcept;
  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static bool is_pinned(const wait_operation& w) noexcept;
  static const kind select_kind;

  const functions& functions_;
  std::atomic<int> winner_{nobody};
};

/// The branch of a select for one operation; each kind of operation has its specialisation:
///
///     select_branch(Operation&&, select_state&, int index);      // keeps the arguments
///     select_branch(select_branch&&, select_state&, int index);  // moves from an untried one
///     bool try_complete();            // true: done immediately; result() is there
///     bool begin();              // waits from now on, and claims `index` when it completes;
///                                // true: it did so in this call, and wakes no task
///     void withdraw() noexcept;  // stops the wait, unless it has ended
///     auto result();             // of the winner; throws the operation's error
///     void undo() noexcept;      // optional: it has won, and its result is dropped
///     void describe(std::ostream&) const;
///
/// A branch whose undo() may fail has two more. They are called next to an irrevocable operation:
///
///     bool begin_provisional();  // like begin(), but undo() will not fail
///     void commit() noexcept;    // it has won, and undo() will not be called
template <class Operation>
class select_branch;

/// The text that describes several operations of this type after their number; null if each one has
/// its own description.
template <class Operation>
inline constexpr const char* plural_name = nullptr;

template <class Operation>
concept selectable = requires { sizeof(select_branch<Operation>); };

/// Returns true for an operation on no items, which succeeds immediately, even after a stop
/// request. A branch whose operation can have no items has `bool is_empty_operation()`.
template <class Branch>
[[nodiscard]] bool is_empty_operation([[maybe_unused]] const Branch& a) noexcept {
  if constexpr (requires { a.is_empty_operation(); }) {
    return a.is_empty_operation();
  } else {
    return false;
  }
}

/// True for an operation that cannot be undone once it has started, such as an Asio operation,
/// which uses the memory of its caller until it has ended.
///
/// A select accepts one such operation and starts it last. If another operation wins, the select
/// asks the irrevocable one to end and waits until it has ended. If it then had an effect, it has
/// won, and the other operation is undone. Its branch has the functions of a partially_completable
/// operation, and three more:
///
///     bool is_over() const noexcept;     // it has ended, or has never begun
///     void request_cancel() noexcept;    // another operation has won: the operation is to end,
///                                        // and wakes the select_state when it has ended
///     bool had_effect() const noexcept;  // once it is over: it completed, failed with an error
///                                        // of its own, or has done a part
///
/// If code outside leat uses the memory of the operation until it has ended, the branch also has
/// `bool uses_memory() const noexcept`, and the scheduler does not destroy the task before.
///
/// It ends on the scheduler of the select. Unless the select has a winner, it claims the select and
/// wakes it. If another operation has won and request_cancel() has not been called, it does not
/// wake the select. The destructor of a branch whose operation is pending ends the operation or
/// asserts.
template <class Operation>
inline constexpr bool irrevocable = false;

/// False for an operation whose effect cannot be undone after it has won, such as a push: another
/// task may have popped the item.
template <class Operation>
inline constexpr bool undoable = true;

/// An operation that may have done a part when something else ends it. Its branch has two more:
///
///     void interrupt(std::error_code) noexcept;  // sets the error after withdraw();
///                                                // result() then reports it
///     auto tuple() noexcept;                     // the code and the result
template <class Operation>
concept partially_completable =
    requires(select_branch<Operation>& a, std::error_code ec) { a.interrupt(ec); };

}  // namespace leat::detail
