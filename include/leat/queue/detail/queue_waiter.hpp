#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <string>
#include <system_error>

#include "leat/async/dump/detail/live_object.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/error.hpp"
#include "leat/queue/partial_push_error.hpp"

namespace leat {

class queue_base;

namespace detail {

class select_state;
struct limit_end;
struct waiting_operation;

/// The state or the outcome of an operation on a queue.
enum class queue_outcome : std::uint8_t {
  waiting,
  done,
  closed,
  cancelled,
  failed,
  exhausted,
  late
};

/// A push, a pop or a close in progress: its position in the wait queue and its progress.
class queue_waiter : public wait_operation {
 public:
  enum class role : std::uint8_t { push, push_many, close, pop, pop_many, pop_up_to };

  /// Bits of flags_.
  enum flag : std::uint8_t {
    selected = 1,     ///< a selected_queue_waiter
    returning = 2,    ///< a pop that has reserved memory to return its items
    provisional = 4,  ///< a pop that commit() or undo() ends: see queue_undo.cpp
  };

  inline queue_waiter(queue_base& queue, role r, void* items, std::size_t count,
                      const std::source_location& where =
                          std::source_location::current()) noexcept;  // in queue_base.hpp

  [[nodiscard]] bool is_push() const noexcept { return role_ <= role::close; }
  /// Returns true for a push_many, which may have added only some items when it ends.
  [[nodiscard]] bool is_push_many() const noexcept { return role_ == role::push_many; }

  [[nodiscard]] bool is_selected() const noexcept { return (flags_ & selected) != 0; }
  [[nodiscard]] bool is_returning() const noexcept { return (flags_ & returning) != 0; }
  [[nodiscard]] bool is_provisional() const noexcept { return (flags_ & provisional) != 0; }
  void set(flag f) noexcept { flags_ = static_cast<std::uint8_t>(flags_ | f); }
  void clear(flag f) noexcept { flags_ = static_cast<std::uint8_t>(flags_ & ~f); }

  /// Returns true for an operation on one item that is not part of a select.
  [[nodiscard]] bool is_single_push() const noexcept {
    return role_ == role::push && count_ == 1 && !is_selected();
  }
  /// Like is_single_push(), and the pop is not provisional.
  [[nodiscard]] bool is_single_pop() const noexcept {
    return role_ == role::pop && (flags_ & (selected | provisional)) == 0;
  }

  /// Records that it completed at once.
  void set_done() noexcept {
    outcome_ = queue_outcome::done;
    moved_ = count_;
  }

  /// Ends the wait as cancelled unless it has ended already.
  static void cancel(wait_operation& w) noexcept;

  /// Leaves the wait queue, for a coroutine that is destroyed while it waits; items of a pop return
  /// to the front of the queue. Returns false if there was no memory for that; then the queue has
  /// failed, and the caller destroys the items. Precondition: the wait has not ended, or the
  /// scheduler is ending.
  [[gnu::cold]] [[nodiscard]] bool abandon() noexcept;

  /// Returns false if it is part of a select that another branch has won; then it must not move
  /// anything.
  [[nodiscard]] bool claim() noexcept { return !is_selected() || claim_select(); }

  /// The error code of the outcomes from `cancelled` on; success for the others.
  [[nodiscard]] std::error_code error() const noexcept {
    return outcome_ >= queue_outcome::cancelled ? outcome_code() : std::error_code();
  }

  /// Throws it. The exception for a stop is thrown here, in the waiting coroutine, and created in a
  /// cold function: docs/decisions/0006-cold-throws.md.
  [[gnu::always_inline]] void throw_on_failure() const {
    if (outcome_ < queue_outcome::cancelled) return;
    if (outcome_ == queue_outcome::cancelled && !is_push_many()) throw cancelled();
    throw_outcome();
  }

  /// Returns false after the queue has been destroyed, which is possible once the operation has
  /// ended.
  [[nodiscard]] bool is_queue_alive() const noexcept {
    return live_object::is_alive(&queue_, queue_number_);
  }

  /// Returns true for a pop that has completed without an error.
  [[nodiscard]] bool has_items() const noexcept {
    return !is_push() && count_ > 0 && outcome_ == queue_outcome::done;
  }

  /// Returns the items of a completed pop whose result will not be used to the queue. Returns false
  /// if there is no memory for that or the queue is destroyed; then the caller destroys the items.
  [[gnu::cold]] [[nodiscard]] bool undo_unread() noexcept;

  // Read and written by queue and queue_base under the queue's lock while the waiter is linked.
  queue_waiter* previous_ = nullptr;
  queue_waiter* following_ = nullptr;
  queue_base& queue_;
  // Push: the values, or a weighed_push; pop: storage for one; pop_many: a vector.
  void* items_;
  std::size_t count_;      // asked for
  std::size_t moved_ = 0;  // done
  const role role_;
  queue_outcome outcome_ = queue_outcome::waiting;
  bool linked_ = false;
  std::uint8_t flags_ = 0;
  const std::uint32_t queue_number_;

 private:
  friend class leat::queue_base;

  static const kind push_kind;
  static const kind pop_kind;
  static void describe(const wait_operation& w, std::ostream& out);
  static void inspect(const wait_operation& w, wait_target& object);
  // The task that waits; null for a thread, a handler, or a coroutine of no task.
  [[nodiscard]] const task_context* waiting_task() const noexcept;
  // The task that waits; none for a handler, or a thread without a thread_record.
  [[nodiscard, gnu::always_inline]] task_id task() const noexcept {
    return context_ ? context_->id() : find_task_id();
  }
  [[nodiscard]] task_id find_task_id() const noexcept;
  [[nodiscard]] waiting_operation operation() const noexcept;  // for a dump, under the queue's lock
  [[nodiscard]] bool claim_select() noexcept;
  [[nodiscard]] std::error_code outcome_code() const noexcept;
  [[nodiscard]] std::string text() const;
  void append_object_to(std::string& text) const;
  [[nodiscard, gnu::cold]] failure cancelled() const;
  [[nodiscard]] failure exhausted() const;
  [[nodiscard]] failure late() const;
  [[nodiscard]] partial_push_error partial() const;
  [[noreturn, gnu::cold]] void throw_outcome() const;
};

/// A queue_waiter that is part of a select.
class selected_queue_waiter : public queue_waiter {
 public:
  selected_queue_waiter(queue_base& queue, role r, void* items, std::size_t count, select_state& s,
                        int index, const std::source_location& where) noexcept;

  select_state& select_state_;
  const int index_;
  const limit_end* ended_by_ = nullptr;  // while the result of a push_many is read
};

/// Operations in order of arrival.
class waiter_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] queue_waiter* first() const noexcept { return first_; }

  void push_back(queue_waiter& w) noexcept {
    w.previous_ = last_;
    w.following_ = nullptr;
    (last_ ? last_->following_ : first_) = &w;
    last_ = &w;
    w.linked_ = true;
    ++size_;
  }
  void remove(queue_waiter& w) noexcept {
    (w.previous_ ? w.previous_->following_ : first_) = w.following_;
    (w.following_ ? w.following_->previous_ : last_) = w.previous_;
    w.linked_ = false;
    --size_;
  }
  /// Precondition: the list is not empty.
  void remove_first() noexcept {
    queue_waiter& w = *first_;
    first_ = w.following_;
    (first_ ? first_->previous_ : last_) = nullptr;
    w.linked_ = false;
    --size_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  friend class leat::queue_base;
  queue_waiter* first_ = nullptr;
  queue_waiter* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail
}  // namespace leat
