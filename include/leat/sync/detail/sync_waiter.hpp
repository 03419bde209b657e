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

namespace leat::detail {

class select_state;
class sync_base;
struct waiting_operation;

/// The state or the outcome of an operation on a primitive.
enum class sync_outcome : std::uint8_t { waiting, done, closed, cancelled, late };

/// An operation that waits on a primitive, such as the acquire of a semaphore.
class sync_waiter : public wait_operation {
 public:
  /// `request`: what the operation requests, as its primitive defines it: a number of permits, a
  /// version, the address of a value.
  sync_waiter(sync_base& object, const kind& k, std::size_t request,
              const std::source_location& where) noexcept
      : wait_operation(k, where), object_(object), request_(request) {}

  /// Returns the kind of the waits of an operation on objects of type `object`, for dumps and
  /// messages: "acquire", "semaphore".
  [[nodiscard]] static constexpr kind kind_of(std::string_view verb,
                                              std::string_view object) noexcept {
    return {verb,  &sync_waiter::cancel, &sync_waiter::describe, &sync_waiter::inspect, nullptr,
            object};
  }

  [[nodiscard]] bool is_selected() const noexcept { return selected_; }

  /// Returns false if it is part of a select that another branch has won; then it must not receive
  /// anything.
  [[nodiscard]] bool claim() noexcept { return !selected_ || claim_select(); }

  /// The task that waits; null for a thread, a handler, or a coroutine of no task.
  [[nodiscard]] const task_context* waiting_task() const noexcept;
  /// The scheduler on which it waits; null for a thread or a handler.
  [[nodiscard]] const scheduler* waiting_on() const noexcept;
  /// The ID of the task or thread that waits; none for a handler, or a thread without a
  /// thread_record.
  [[nodiscard]] task_id task() const noexcept {
    return context_ && !selected_ ? context_->id() : task_if_rare();
  }

  /// Leaves the wait queue, for a coroutine that is destroyed while it waits. Returns true if the
  /// operation has completed; the caller undoes it.
  [[gnu::cold, nodiscard]] bool abandon() noexcept;

  /// The error code of the outcomes from `cancelled` on; success for the others.
  [[nodiscard]] std::error_code error() const noexcept;

  /// Throws it. The exception for a stop is thrown here, in the waiting coroutine, and created in a
  /// cold function.
  [[gnu::always_inline]] void throw_on_failure() const {
    if (outcome_ >= sync_outcome::cancelled) [[unlikely]]
      throw failed();
  }

  /// Describes the object in its present state. Precondition: the object exists.
  void describe_object(std::ostream& out) const;

  /// For a dump, under the lock of the object.
  [[nodiscard]] waiting_operation operation() const noexcept;

  // Read and written under the lock of the object while the operation is linked.
  sync_waiter* previous_ = nullptr;
  sync_waiter* following_ = nullptr;
  sync_base& object_;
  std::size_t request_;
  // Set and reset under the lock. release: an operation that is no longer linked does not touch the
  // object, which may be gone.
  std::atomic<bool> linked_{false};
  sync_outcome outcome_ = sync_outcome::waiting;
  bool selected_ = false;
  bool limited_ = false;  ///< a deadline or a stop token of its own may end the wait

 private:
  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static void inspect(const wait_operation& w, wait_target& target);
  [[nodiscard]] bool claim_select() noexcept;
  [[nodiscard]] task_id task_if_rare() const noexcept;
  [[nodiscard, gnu::cold]] failure failed() const;
  void append_object_to(std::string& text) const;
};

/// A sync_waiter that is part of a select.
class selected_sync_waiter : public sync_waiter {
 public:
  selected_sync_waiter(sync_base& object, const kind& k, std::size_t request, select_state& s,
                       int index, const std::source_location& where) noexcept;

  select_state& select_state_;
  const int index_;
};

/// Operations in order of arrival.
class sync_waiter_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] sync_waiter* first() const noexcept { return first_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push_back(sync_waiter& w) noexcept {
    w.previous_ = last_;
    w.following_ = nullptr;
    (last_ ? last_->following_ : first_) = &w;
    last_ = &w;
    ++size_;
    w.linked_.store(true, std::memory_order_relaxed);
  }
  void remove(sync_waiter& w) noexcept {
    (w.previous_ ? w.previous_->following_ : first_) = w.following_;
    (w.following_ ? w.following_->previous_ : last_) = w.previous_;
    --size_;
    w.linked_.store(false, std::memory_order_release);
  }
  /// Removes the first one. Precondition: the list is not empty.
  void pop_front() noexcept {
    sync_waiter& w = *first_;
    first_ = w.following_;
    (first_ ? first_->previous_ : last_) = nullptr;
    __builtin_prefetch(first_);  // of another coroutine, which may be in no cache
    --size_;
    w.linked_.store(false, std::memory_order_release);
  }

 private:
  sync_waiter* first_ = nullptr;
  sync_waiter* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace leat::detail
