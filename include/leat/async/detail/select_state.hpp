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
/// An operation that could complete claims the selection first, under the lock of the object that
/// it waits on. One claim succeeds. Who has lost has moved nothing and leaves its line; the winner
/// completes, and wakes the selection.
class selection : public wait {
 public:
  static constexpr int nobody = -1;
  static constexpr int stop = -2;   // the task was asked to stop
  static constexpr int error = -3;  // an operation could not be begun

  /// True: operation `index` may complete, no other one will. Thread safety: shared-safe.
  [[nodiscard]] bool claim(int index) noexcept {
    int expected = nobody;
    // Relaxed: it decides who wins and says nothing of what the winner moves; the wake does that.
    return winner_.compare_exchange_strong(expected, index, std::memory_order_relaxed,
                                           std::memory_order_relaxed);
  }
  [[nodiscard]] int winner() const noexcept { return winner_.load(std::memory_order_relaxed); }

  /// The task that waits; null for another coroutine.
  [[nodiscard]] const context* task() const noexcept { return context_; }

 protected:
  using describer = void (*)(const selection&, std::ostream&);

  selection(describer describe_all, const std::source_location& where) noexcept
      : wait(select_kind, where), describe_all_(describe_all) {}
  ~selection() = default;

 private:
  static void cancel(wait& w) noexcept;
  static void describe(const wait& w, std::ostream& out);
  static const kind select_kind;

  const describer describe_all_;
  std::atomic<int> winner_{nobody};
};

/// Place of an operation in a select; each kind of operation has its specialisation:
///
///     arm(Operation&&, selection&, int index);  // keeps what the operation is made of
///     arm(arm&&, selection&, int index);        // of one that has not been tried
///     bool try_now();            // true: done at once; result() is there
///     bool begin();              // waits from now on, and claims `index` when it completes;
///                                // true: it did so in this call, and wakes nobody
///     void withdraw() noexcept;  // waits no more, unless it has ended
///     auto result();             // of the winner; throws what the operation throws
///     void undo() noexcept;      // optional: it has won, and nobody will ask for the result
///     void describe(std::ostream&) const;
template <class Operation>
class arm;

template <class Operation>
concept selectable = requires { sizeof(arm<Operation>); };

/// True: the operation is one on nothing, which is done at once whatever has been stopped. The arm
/// of one that may be has `bool asks_for_nothing()`.
template <class Arm>
[[nodiscard]] bool asks_for_nothing([[maybe_unused]] const Arm& a) noexcept {
  if constexpr (requires { a.asks_for_nothing(); }) {
    return a.asks_for_nothing();
  } else {
    return false;
  }
}

/// An operation that may have done a part when something else ends it. Its arm has two more:
///
///     void interrupt(std::error_code) noexcept;  // what has ended it, once it was withdrawn;
///                                                // result() then tells
///     auto tuple() noexcept;                     // the code beside what result() gives
template <class Operation>
concept done_in_parts = requires(arm<Operation>& a, std::error_code ec) { a.interrupt(ec); };

}  // namespace leat::detail
