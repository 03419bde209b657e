#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "leat/async/detail/bound_awaiter.hpp"
#include "leat/async/detail/wait_on_foreign_awaitable.hpp"
#include "leat/async/task_context.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_operation.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/frame_allocator.hpp"

namespace LEAT {

template <class T>
class task;

namespace detail {

class promise_base;
class task_local_node;

/// The task that awaits another one, and its source location. It is stored in the frame of the
/// awaiting task, since most tasks are spawned and have no awaiting task.
struct awaiter_link {
  promise_base* parent;
  task_local_node* locals;  ///< the values of task-locals that the awaited task adds, or null
  std::source_location where;
};

/// The part of a task's promise that does not depend on its type: its position in the chain of
/// awaiting tasks, and its memory.
class promise_base {
 public:
  promise_base() = default;
  promise_base(const promise_base&) = delete;
  promise_base& operator=(const promise_base&) = delete;

  std::suspend_always initial_suspend() const noexcept { return {}; }
  auto final_suspend() noexcept { return final_awaiter{finish()}; }
  [[gnu::cold]] void unhandled_exception() noexcept;

  [[nodiscard]] task_context& context() const noexcept { return *context_; }

  /// The coroutine of this promise. The promise follows two pointers in its frame, whatever its
  /// type, since its alignment is at most 16 bytes.
  [[nodiscard]] std::coroutine_handle<> coroutine() noexcept {
    return std::coroutine_handle<promise_base>::from_promise(*this);
  }

  /// The task that awaits this one, null for the outermost.
  [[nodiscard]] promise_base* parent() const noexcept {
    return awaiter_link_ ? awaiter_link_->parent : nullptr;
  }
  /// The source location of that co_await. Precondition: parent() is not null.
  [[nodiscard]] const std::source_location& where() const noexcept { return awaiter_link_->where; }

  /// The values of task-locals that are set for this task and those that it awaits, or null.
  [[nodiscard]] task_local_node* locals() const noexcept {
    return awaiter_link_ ? awaiter_link_->locals : nullptr;
  }

  /// Makes this the task that `link`, which lives until this one has ended, waits for.
  void continue_with(awaiter_link& link) noexcept {
    awaiter_link_ = &link;
    context_ = link.parent->context_;
    context_->innermost_ = this;
  }

  /// Makes this the outermost task of `c`.
  void root_in(task_context& c) noexcept {
    context_ = &c;
    c.innermost_ = this;
  }

  /// The exception that has ended this task. Call these in the step after its end.
  [[nodiscard]] bool has_error() const noexcept {
    return context_->get_scheduler().task_error() != nullptr;
  }
  [[nodiscard]] std::exception_ptr take_error() noexcept {
    return std::exchange(context_->get_scheduler().task_error(), nullptr);
  }
  void rethrow_error() {
    if (has_error()) std::rethrow_exception(take_error_to_throw());
  }

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* p, std::size_t size) noexcept { free_frame(p, size); }

 protected:
  /// The link to the awaiting task; null for the outermost task, and after detach().
  [[nodiscard]] awaiter_link* link() const noexcept { return awaiter_link_; }
  /// Forgets the awaiting task.
  void detach() noexcept { awaiter_link_ = nullptr; }

  /// Makes the awaiting task the innermost one of its context, which it returns.
  task_context& leave_context() noexcept {
    context_->innermost_ = awaiter_link_->parent;
    return *context_;
  }
  /// For a task that waited in a frame which is destroyed.
  static void end_wait(task_context& c) noexcept { c.set_waiting(nullptr); }

  /// Resumes the awaiting task when this one has suspended.
  void transfer_to_parent() noexcept {
    leave_context().get_scheduler().transfer_to(awaiter_link_->parent->coroutine());
  }

 private:
  // Cold, and so is the rethrow: docs/decisions/0006-cold-throws.md.
  [[gnu::cold]] std::exception_ptr take_error_to_throw() noexcept;

  // A coroutine that does not suspend at its end destroys its frame.
  struct final_awaiter {
    const bool is_over;
    bool await_ready() const noexcept { return is_over; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
  };

  // Arranges for the next step, which follows when the coroutine has suspended or its frame is
  // destroyed. Returns true if the frame is not needed any more.
  bool finish() noexcept {
    if (!awaiter_link_) return finish_root();
    transfer_to_parent();
    return false;
  }
  // Makes no call, for which each coroutine would need a stack frame.
  bool finish_root() noexcept {
    task_context& c = *context_;
    c.scheduler_->finish_after_suspend(c);
    if (c.scheduler_->task_error() || c.scope_->keeps_results_) return false;
    c.innermost_ = nullptr;
    return true;
  }

  task_context* context_ = nullptr;
  awaiter_link* awaiter_link_ = nullptr;  // null: this is the outermost
};

}  // namespace detail

inline void wait_operation::bind(detail::promise_base& promise,
                                 std::coroutine_handle<> h) noexcept {
  context_ = &promise.context();
  scheduler_ = &context_->get_scheduler();
  continuation_ = h.address();
}

namespace detail {

/// Awaits a task from another one: starts it in place and hands the scheduler over to it.
template <class T>
class child_awaiter;

/// Like child_awaiter, but for as_tuple().
template <class T>
class as_tuple_task;
template <class Operation>
class as_tuple_awaiter;

/// A task that is awaited by the library itself, at a source location that no dump is to list.
template <class T>
struct untraced {
  task<T>&& child;
  task_local_node* locals = nullptr;  ///< see awaiter_link
};

template <class T>
class promise;

/// The promise of a task or a generator: the part that accepts awaitables.
class awaiting_promise : public promise_base {
 public:
  template <class U>
  child_awaiter<U> await_transform(
      task<U>&& child, std::source_location where = std::source_location::current()) noexcept;

  template <class U>
  child_awaiter<U> await_transform(untraced<U>&& internal) noexcept;

  template <class U>
  as_tuple_awaiter<child_awaiter<U>> await_transform(
      as_tuple_task<U>&& child,
      std::source_location where = std::source_location::current()) noexcept;  // in as_tuple.hpp

  template <class A>
    requires location_aware<std::remove_reference_t<A>>
  bound_awaiter<std::remove_reference_t<A>> await_transform(
      A&& awaitable, const std::source_location& where = std::source_location::current()) noexcept {
    awaitable.bind(*this, coroutine(), where);
    return {awaitable};
  }

  template <class A>
    requires task_aware<std::remove_reference_t<A>>
  bound_awaiter<std::remove_reference_t<A>> await_transform(A&& awaitable) noexcept {
    awaitable.bind(*this, coroutine());
    return {awaitable};
  }

  template <class A>
    requires(!task_aware<std::remove_reference_t<A>> && !location_aware<std::remove_reference_t<A>>)
  wait_on_foreign_awaitable<A> await_transform(
      A&& awaitable, const std::source_location& where = std::source_location::current()) {
    return wait_on_foreign_awaitable<A>(static_cast<A&&>(awaitable), *this, coroutine(), where);
  }
};

template <class T>
class promise_common : public awaiting_promise {
 public:
  task<T> get_return_object() noexcept {
    return task<T>(
        std::coroutine_handle<promise<T>>::from_promise(static_cast<promise<T>&>(*this)));
  }
};

inline constexpr const char* missing_value =
    "task ended without a value: end each path of its coroutine with co_return and a value";

template <class T>
class promise final : public promise_common<T> {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "the result of a task has a larger alignment than the frame of a coroutine: return "
                "it in a std::unique_ptr or a std::vector");

 public:
  template <class U = T>
    requires std::convertible_to<U&&, T>
  void return_value(U&& value) noexcept(std::is_nothrow_constructible_v<T, U&&>) {
    value_.emplace(std::forward<U>(value));
  }
  T result() {
    this->rethrow_error();
    LEAT_ASSERT(value_.has_value(), missing_value);
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <class T>
class promise<T&> final : public promise_common<T&> {
 public:
  void return_value(T& value) noexcept { value_ = &value; }
  T& result() {
    this->rethrow_error();
    LEAT_ASSERT(value_ != nullptr, missing_value);
    return *value_;
  }

 private:
  T* value_ = nullptr;
};

template <>
class promise<void> final : public promise_common<void> {
 public:
  void return_void() const noexcept {}
  void result() { this->rethrow_error(); }
};

}  // namespace detail
}  // namespace LEAT
