#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <string>
#include <system_error>

#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/async/wait_target.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

/// The state or the outcome of a wait. From `cancelled` on, the operation had no effect, apart from
/// the part that a partial_operation reports, and the forms throw an error.
enum class wait_outcome : std::uint8_t {
  waiting,    ///< it has not ended
  done,       ///< completed
  closed,     ///< ended without an effect, because its object is closed, which is not an error
  cancelled,  ///< by a stop, a limit or a select
  failed,     ///< with the error of its object
  exhausted,  ///< resource_exhausted
  late        ///< deadline_exceeded, at the limit of a blocked thread
};

namespace detail {
class blocked_thread;
class select_state;
struct limit_end;
struct waiting_operation;

/// A branch of a select.
struct select_link {
  select_state& state;
  int index;
  const limit_end* ended_by = nullptr;  // while the result is read
};
}  // namespace detail

/// The wait of an operation: what its object keeps in its wait queue. The base of the waits of all
/// queues and primitives.
///
/// When it ends, one of four continues: a coroutine, a select, a blocked thread or a handler. The
/// object need not know which.
///
/// To end a wait, an object calls claim() under its own lock. If that returns true, it gives the
/// waiter what it asked for, calls set_outcome(), unlinks the wait, and calls wake(), usually after
/// the lock is released. If claim() returns false, the object only unlinks the wait.
///
/// If claim() returned true, the wait remains until wake() is called. If it returned false, its
/// owner may destroy it as soon as it is unlinked, without the lock: do not access it afterwards.
///
/// Thread safety: wake() and is_linked() are thread-safe. The object serialises all other calls,
///                but outcome() may be read without the lock once the wait has ended.
class waiter : public wait_operation {
 public:
  /// `k` must outlive it. `where`: the call that a dump shows.
  waiter(const kind& k, const std::source_location& where) noexcept : wait_operation(k, where) {}

  // -- For the form that starts the wait: who continues.
  /// A branch of a select.
  void continue_select(detail::select_link& link) noexcept;
  /// A thread that sleeps.
  void continue_thread(detail::blocked_thread& thread) noexcept;
  /// An object with a handler, which has `deliver()`.
  template <class Owner>
  void continue_handler(Owner& owner) noexcept {
    set_continuation(&owner);
    run_ = [](work_item& item) noexcept {
      static_cast<Owner*>(static_cast<waiter&>(item).continuation())->deliver();
    };
  }

  // -- For the object.
  /// Returns false if it is part of a select that another branch has won; then it must not receive
  /// anything. Call it under the lock of the object.
  [[nodiscard]] bool claim() noexcept { return !is_selected() || claim_select(); }
  /// Sets how it ends. Call it before wake() or before the wait is unlinked.
  void set_outcome(wait_outcome o) noexcept { outcome_ = o; }
  /// Returns `waiting` until it has ended.
  [[nodiscard]] wait_outcome outcome() const noexcept { return outcome_; }
  /// Returns true while it is in a waiter_list. Once it returns false, the object may be gone.
  /// Thread safety: thread-safe.
  [[nodiscard]] bool is_linked() const noexcept { return linked_.load(std::memory_order_acquire); }
  /// Returns true for a branch of a select or of a limit.
  [[nodiscard]] bool is_selected() const noexcept { return (flags_ & selected) != 0; }
  /// Returns true if a limit may end the wait of a blocked thread.
  [[nodiscard]] bool is_limited() const noexcept { return (flags_ & limited) != 0; }
  /// The task that waits; null for a thread, a handler, or a coroutine of no task.
  [[nodiscard]] const task_context* waiting_task() const noexcept;
  /// The scheduler on which it waits; null for a thread or a handler.
  [[nodiscard]] scheduler* waiting_on() const noexcept;
  /// The ID of the task or thread that waits; none for a handler or an unknown thread.
  [[nodiscard, gnu::always_inline]] task_id task() const noexcept {
    return context_ ? context_->id() : task_if_rare();
  }
  /// Returns the limit that ended an operation of which a part was done, for a message, such as
  /// " (limit of 10 ms at service.cpp:9 in serve)"; empty otherwise.
  [[nodiscard]] std::string limit_text() const;
  /// Returns the ID of the calling thread, or an empty one if it belongs to no coordinator.
  [[nodiscard, gnu::cold]] static task_id id_of_this_thread() noexcept;
  /// For a dump, under the lock of the object: the kind of the caller and the place.
  [[nodiscard]] detail::waiting_operation operation() const noexcept;

  // -- For the forms. The object may hide these with its own.
  /// It completed without a wait.
  void set_done() noexcept { outcome_ = wait_outcome::done; }
  /// The error code of the outcomes `cancelled`, `exhausted` and `late`; success for the others.
  [[nodiscard]] std::error_code error() const noexcept;
  /// Throws it. The exception for a stop is thrown here, in the waiting coroutine, and created in a
  /// cold function.
  [[gnu::always_inline]] void throw_on_failure() const {
    if (outcome_ >= wait_outcome::cancelled) [[unlikely]]
      throw failed();
  }
  /// Before the memory of an ended wait is freed without a resumption.
  using wait_operation::withdraw_wakeup;

 protected:
  // Set and used under the lock of the object while the wait is linked.
  waiter* previous_;
  waiter* following_;
  // release when it is unlinked: a wait that has ended does not touch its object, which may be
  // gone.
  std::atomic<bool> linked_{false};
  wait_outcome outcome_ = wait_outcome::waiting;
  std::uint8_t flags_ = 0;
  std::uint8_t role_ = 0;  // for the object

  enum flag : std::uint8_t {
    selected = 1,  // part of a select
    limited = 2,   // a deadline or a stop token of a thread may end the wait
    first_own = 4  // the first bit for the object
  };
  void set(unsigned f) noexcept { flags_ = static_cast<std::uint8_t>(flags_ | f); }
  void clear(unsigned f) noexcept { flags_ = static_cast<std::uint8_t>(flags_ & ~f); }

 private:
  friend class detail::blocked_thread;
  template <class Waiter>
  friend class waiter_list;

  static void wake_select(work_item& item) noexcept;
  static void wake_thread(work_item& item) noexcept;
  [[nodiscard]] bool claim_select() noexcept;
  [[nodiscard]] task_id task_if_rare() const noexcept;
  [[nodiscard, gnu::cold]] failure failed() const;
  [[nodiscard]] detail::select_link& link() const noexcept {
    return *static_cast<detail::select_link*>(continuation());
  }
};

/// Waits in order of arrival. Waiter is the class of the waits. The owner serialises all calls.
template <class Waiter>
class waiter_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  /// Returns null if it is empty.
  [[nodiscard]] Waiter* first() const noexcept { return static_cast<Waiter*>(first_); }
  /// Returns the next one, or null.
  [[nodiscard]] static Waiter* after(const Waiter& w) noexcept {
    return static_cast<Waiter*>(w.following_);
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Adds `w`, which is in no list, at the end.
  void push_back(Waiter& w) noexcept {
    w.previous_ = last_;
    w.following_ = nullptr;
    (last_ ? last_->following_ : first_) = &w;
    last_ = &w;
    ++size_;
    w.linked_.store(true, std::memory_order_relaxed);
  }
  /// Removes `w`, and does not access it afterwards. Precondition: it is in this list.
  void remove(Waiter& w) noexcept {
    (w.previous_ ? w.previous_->following_ : first_) = w.following_;
    (w.following_ ? w.following_->previous_ : last_) = w.previous_;
    --size_;
    w.linked_.store(false, std::memory_order_release);
  }
  /// Removes the first one, like remove(). Precondition: the list is not empty.
  void remove_first() noexcept {
    waiter& w = *first_;
    first_ = w.following_;
    if (first_) {
      first_->previous_ = nullptr;
      // Of another coroutine, which may be in no cache. Not null, which could cost 18 ns: see
      // docs/performance.md.
      __builtin_prefetch(first_);
    } else {
      last_ = nullptr;
    }
    --size_;
    w.linked_.store(false, std::memory_order_release);
  }
  /// Removes all and returns the first one, from which after() leads to the others. The caller
  /// passes each to forget(), after it has read the next one.
  [[nodiscard]] Waiter* take_all() noexcept {
    Waiter* const all = first();
    first_ = last_ = nullptr;
    size_ = 0;
    return all;
  }
  /// Ends the removal of `w`, and does not access it afterwards.
  static void forget(Waiter& w) noexcept { w.linked_.store(false, std::memory_order_release); }

 private:
  waiter* first_ = nullptr;
  waiter* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace LEAT
