#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <source_location>
#include <string>
#include <system_error>

#include "leat/async/dump/internal/live_object.hpp"
#include "leat/async/operation/waiter.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/partial_push_error.hpp"

namespace LEAT {

class queue_base;

namespace detail {

/// A push, a pop or a close in progress: its position in the wait queue and its progress.
class queue_waiter : public waiter {
 public:
  enum class role : std::uint8_t { push, push_many, close, pop, pop_many, pop_up_to };

  /// Bits of flags_.
  enum flag : std::uint8_t {
    returning = first_own,        ///< a pop that has reserved memory to return its items
    provisional = 2 * first_own,  ///< a pop that commit() or undo() ends: see queue_undo.cpp
    unnamed = 4 * first_own,      ///< the queue has not remembered its task yet
  };

  inline queue_waiter(queue_base& queue, role r, void* items, std::size_t count,
                      const std::source_location& where =
                          std::source_location::current()) noexcept;  // in queue_base.hpp

  /// The operation has `queue`, `the_role`, items() and count().
  template <class Operation>
  queue_waiter(Operation& operation, const std::source_location& where) noexcept
      : queue_waiter(*operation.queue, Operation::the_role, operation.items(), operation.count(),
                     where) {}

  [[nodiscard]] role the_role() const noexcept { return static_cast<role>(role_); }
  [[nodiscard]] bool is_push() const noexcept { return the_role() <= role::close; }
  /// Returns true for a push_many, which may have added only some items when it ends.
  [[nodiscard]] bool is_push_many() const noexcept { return the_role() == role::push_many; }

  [[nodiscard]] bool is_returning() const noexcept { return (flags_ & returning) != 0; }
  [[nodiscard]] bool is_provisional() const noexcept { return (flags_ & provisional) != 0; }

  [[nodiscard]] bool is_unnamed() const noexcept { return (flags_ & unnamed) != 0; }

  /// Returns true for an operation on one item that is not part of a select.
  [[nodiscard]] bool is_single_push() const noexcept {
    return the_role() == role::push && count_ == 1 && !is_selected();
  }
  /// Like is_single_push(), and the pop is not provisional.
  [[nodiscard]] bool is_single_pop() const noexcept {
    return the_role() == role::pop && (flags_ & (unsigned{selected} | unsigned{provisional})) == 0;
  }

  /// Records that it completed at once.
  void set_done() noexcept {
    outcome_ = wait_outcome::done;
    moved_ = count_;
  }

  /// Ends the wait as cancelled unless it has ended already.
  static void cancel(wait_operation& w) noexcept;

  /// For the forms: the progress.
  [[nodiscard]] std::size_t moved() const noexcept { return moved_; }
  [[nodiscard]] bool is_complete() const noexcept { return moved_ == count_; }

  /// The error code of the outcomes from `cancelled` on; success for the others.
  [[nodiscard]] std::error_code error() const noexcept {
    return outcome_ >= wait_outcome::cancelled ? outcome_code() : std::error_code();
  }

  /// Throws it. The exception for a stop is thrown here, in the waiting coroutine, and created in a
  /// cold function: docs/decisions/0006-cold-throws.md.
  [[gnu::always_inline]] void throw_on_failure() const {
    if (outcome_ < wait_outcome::cancelled) return;
    if (outcome_ == wait_outcome::cancelled && !is_push_many()) throw cancelled();
    throw_outcome();
  }

  /// Returns false after the queue has been destroyed, which is possible once the operation has
  /// ended.
  [[nodiscard]] bool is_queue_alive() const noexcept {
    return live_object::is_alive(&queue_, queue_number_);
  }

  /// Returns true for a pop that has completed without an error.
  [[nodiscard]] bool has_items() const noexcept {
    return !is_push() && count_ > 0 && outcome_ == wait_outcome::done;
  }

  /// Returns the items of a completed pop whose result will not be used to the queue. Returns false
  /// if there is no memory for that or the queue is destroyed; then the caller destroys the items.
  [[gnu::cold]] [[nodiscard]] bool undo_unread() noexcept;

  // Read and written by queue and queue_base under the queue's lock while the waiter is linked.
  const std::uint32_t queue_number_;
  queue_base& queue_;
  // Push: the values, or a weighed_push; pop: storage for one; pop_many: a vector.
  void* items_;
  std::size_t count_;      // asked for
  std::size_t moved_ = 0;  // done

 private:
  friend class leat::queue_base;

  static const kind push_kind;
  static const kind pop_kind;
  static void describe(const wait_operation& w, std::ostream& out);
  static void inspect(const wait_operation& w, wait_target& object);
  [[nodiscard]] waiting_operation operation() const noexcept;  // for a dump, under the queue's lock
  [[nodiscard]] std::error_code outcome_code() const noexcept;
  [[nodiscard]] std::string text() const;
  void append_object_to(std::string& text) const;
  [[nodiscard, gnu::cold]] failure cancelled() const;
  [[nodiscard]] failure exhausted() const;
  [[nodiscard]] failure late() const;
  [[nodiscard]] partial_push_error partial() const;
  [[noreturn, gnu::cold]] void throw_outcome() const;
};

}  // namespace detail
}  // namespace LEAT
