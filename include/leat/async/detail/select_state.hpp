#pragma once

#include <atomic>
#include <cstddef>
#include <iosfwd>
#include <source_location>
#include <string>

#include "leat/async/wait_operation.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

/// The limit that was to end an operation, or a stop of its task.
struct limit_end {
  errc code = errc::cancelled;
  std::source_location where = {};  ///< of the limit; not set for a stop of the task
  duration length = {};             ///< of a time limit
};

/// Returns the limit for a message, such as " (limit of 10 ms at service.cpp:9 in serve)"; empty
/// for a stop of the task.
[[nodiscard]] std::string limit_text(const limit_end& end);

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

  /// Returns true if an irrevocable operation has not ended. Once there is a winner, the coroutine
  /// waits for that operation.
  [[nodiscard]] bool is_pending() const noexcept { return functions_.is_pending(*this); }

  /// Completes the timer of operation `index`: it wins, unless the waiting task was asked to stop.
  /// Asks a pending irrevocable operation to end in this call, before the timers that follow, so
  /// that a late loop serves a limit before a later timer of the limited task.
  void expire(int index) noexcept;

  /// The kinds of the two: a select, and a limit on one operation.
  static const kind select_kind;
  static const kind limit_kind;

 protected:
  /// The functions of a select that depend on the types of its operations.
  struct functions {
    /// Describes the operations.
    void (*describe)(const select_state&, std::ostream&);
    /// Returns true if an irrevocable operation has not ended.
    bool (*is_pending)(const select_state&) noexcept;
    /// Asks the pending irrevocable operation to end, because there is a winner, unless code
    /// outside leat uses its memory and `may_cancel` is false. It then wakes the select again.
    void (*end_irrevocable)(select_state&, bool may_cancel) noexcept;
    /// Returns true while code outside leat uses the memory of an operation.
    bool (*uses_memory)(const select_state&) noexcept;
  };

  select_state(const functions& f, const kind& k, const std::source_location& where) noexcept
      : wait_operation(k, where), functions_(f) {}
  ~select_state() = default;

  /// Makes wake() wait for the irrevocable operation before the coroutine resumes. Call it after
  /// begin_wait().
  void settle_before_resuming() noexcept { run_ = &select_state::settle; }

 private:
  friend class leat::wait_operation;
  friend std::string to_text(const work_item& item);

  static void settle(work_item& item) noexcept;
  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static bool is_pinned(const wait_operation& w) noexcept;

  const functions& functions_;
  std::atomic<int> winner_{nobody};
};

/// The branch of a select for one operation, or for a limit of one; each kind of operation has its
/// specialisation:
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
/// The branch of a sleep or a stop, which limits another operation, also has
///
///     void describe_limit(std::ostream&, bool expired) const;
///     limit_end as_limit() const noexcept;  // once it has won
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
/// If the operation begins in a later item than begin(), its branch also has
/// `bool settle_after_begin() noexcept`. It returns false if the operation has begun; otherwise the
/// select is settled right after that item.
///
/// If code outside leat uses the memory of the operation until it has ended, the scheduler does not
/// destroy the task before, and the branch has two more:
///
///     bool uses_memory() const noexcept;
///     void wake_at_end() noexcept;  // like request_cancel(), but the operation ends by itself
///
/// It ends on the scheduler of the select. Unless the select has a winner, it claims the select and
/// wakes it. If another operation has won, it wakes the select only after request_cancel() or
/// wake_at_end(). The destructor of a branch whose operation is pending ends the operation or
/// asserts.
template <class Operation>
inline constexpr bool irrevocable = false;

/// False for an operation whose effect cannot be undone after it has won, such as a push: another
/// task may have popped the item.
template <class Operation>
inline constexpr bool undoable = true;

/// An operation that may have done a part when something else ends it. Its branch has two more:
///
///     void interrupt(const limit_end&) noexcept;  // sets the error after withdraw(); result() or
///                                                 // tuple() follows and reports it. The branch
///                                                 // may refer to its argument until then
///     auto tuple() noexcept;                      // the code and the result
template <class Operation>
concept partially_completable =
    requires(select_branch<Operation>& a, const limit_end& by) { a.interrupt(by); };

}  // namespace LEAT::detail
