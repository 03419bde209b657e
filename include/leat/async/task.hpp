#pragma once

#include <coroutine>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/async/condition_wait.hpp"
#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/operation_results.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/local_types.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {

/// A coroutine that runs on a scheduler and returns one result.
///
/// A task is lazy: it starts when it is awaited or spawned, and runs once. If a task awaits another
/// one, the awaited task shares the scheduler, stop request and name of the first. A task is always
/// resumed from the loop of its scheduler: a million awaits that complete immediately need no more
/// stack than one.
/// When a coroutine of another type awaits a task, the task runs on the scheduler that is current
/// at that point. In another handler of an io_context, the task runs on the scheduler of the
/// context. On a thread without a scheduler, the `co_await` throws failed_precondition.
///
/// If the body exits with an exception, the `co_await` throws it. The exception of a spawned task
/// is passed to its owner.
///
///     leat::task<std::size_t> count(leat::fifo_queue<std::string>& lines) {
///       std::size_t n = 0;
///       while (auto line = co_await lines.pop()) ++n;
///       co_return n;
///     }
///
/// Thread safety: thread-compatible; the coroutine itself is thread-bound to its scheduler.
/// Cost: one frame from a recycling allocator; 140 instructions for a child that finishes
/// immediately.
template <class T = void>
class [[nodiscard]] task {
 public:
  using value_type = T;
  /// The promise of the coroutine. The compiler needs this name; programs must not use it.
  using promise_type = detail::promise<T>;

  /// Creates an empty task. Assign a task to it before you use it.
  task() = default;
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~task() { destroy(); }

  /// Returns false if the task is empty: default constructed, moved from, awaited or spawned.
  [[nodiscard]] bool valid() const noexcept { return handle_ != nullptr; }

  /// Awaits the task in a coroutine of another type.
  auto operator co_await() && noexcept;

  /// Does not compile: its error message explains why a coroutine of Asio cannot await a task.
  template <detail::awaitable_of_task Asio>
  operator Asio() const noexcept;

 private:
  friend class detail::promise_common<T>;
  friend class detail::child_awaiter<T>;
  friend class task_scope;

  explicit task(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}

  void destroy() noexcept {
    if (handle_) handle_.destroy();
  }
  [[nodiscard]] std::coroutine_handle<promise_type> release() noexcept {
    return std::exchange(handle_, nullptr);
  }

  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class T>
class [[nodiscard]] child_awaiter {
 public:
  child_awaiter(task<T>&& t, promise_base& parent, const std::source_location& where,
                task_local_node* locals = nullptr) noexcept
      : task_(std::move(t)), awaiter_link_{&parent, locals, where} {
    LEAT_ASSERT(task_.valid(),
                "co_await on an empty task: it was moved from or has already been awaited");
  }

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) noexcept {
    task_.handle_.promise().continue_with(awaiter_link_);
    awaiter_link_.parent->context().get_scheduler().transfer_to(task_.handle_);
  }
  T await_resume() { return task_.handle_.promise().result(); }
  operation_result<T> await_tuple() noexcept {
    auto& promise = task_.handle_.promise();
    return result_of_call<T>(to_error_code(promise.take_error()),
                             [&]() -> T { return promise.result(); });
  }

 private:
  task<T> task_;
  awaiter_link awaiter_link_;
};

template <class U>
child_awaiter<U> awaiting_promise::await_transform(task<U>&& child,
                                                   std::source_location where) noexcept {
  return child_awaiter<U>(std::move(child), *this, where);
}

template <class U>
child_awaiter<U> awaiting_promise::await_transform(untraced<U>&& internal) noexcept {
  return child_awaiter<U>(std::move(internal.child), *this, std::source_location(),
                          internal.locals);
}

}  // namespace detail

template <class T>
void task_scope::start_task_on(scheduler& s, task<T>&& t, const std::source_location& where) {
  LEAT_ASSERT(t.valid(),
              "co_await on an empty task: it was moved from or has already been awaited");
  start_on(s, t.handle_.promise(), where);
  static_cast<void>(t.release());
}

template <class T>
void task_scope::start_here(task<T>&& t, const std::source_location& where) {
  LEAT_ASSERT(t.valid(),
              "co_await on an empty task: it was moved from or has already been awaited");
  start_in_turn(t.handle_.promise(), where);
  static_cast<void>(t.release());
}

inline void task_scope::spawn_on(scheduler& s, task<void> t, std::string_view name,
                                 const std::source_location& where) {
  LEAT_ASSERT(t.valid(), "spawn() of an empty task: it was moved from or has already been spawned");
  if (name.empty()) {
    start_on(s, t.handle_.promise(), where);
  } else {
    start_named_on(s, t.handle_.promise(), name, where);
  }
  static_cast<void>(t.release());
}

inline void task_scope::spawn_here(task<void> t, std::string_view name,
                                   const std::source_location& where) {
  LEAT_ASSERT(t.valid(), "spawn() of an empty task: it was moved from or has already been spawned");
  if (name.empty()) {
    start_in_turn(t.handle_.promise(), where);
  } else {
    start_named_in_turn(t.handle_.promise(), name, where);
  }
  static_cast<void>(t.release());
}

namespace detail {

/// The owner of one task, which keeps the error of that task for its waiter.
class root_scope final : public task_scope {
 public:
  explicit root_scope(std::string_view kind, task_context* parent = nullptr)
      : task_scope(kind, "", parent) {}
  /// Creates a scope for which the calling thread blocks. If it is a thread of a coordinator, dumps
  /// list the scope under it.
  [[nodiscard]] static root_scope of_this_thread(std::string_view kind);

  using task_scope::block_until;
  using task_scope::idle;
  using task_scope::request_scope_stop;
  using task_scope::spawn_on;
  using task_scope::wait_until;
  using task_scope::when_idle;

  void rethrow_error() const {
    if (error_) std::rethrow_exception(error_);
  }
  [[nodiscard]] std::exception_ptr error() const noexcept { return error_; }

 private:
  using task_scope::task_scope;
  void task_failed(std::exception_ptr error) noexcept override { error_ = std::move(error); }

  std::exception_ptr error_;
};

/// Calls `body` as a task, and keeps it until that task has finished.
template <class Body>
task<void> run_body(Body body) {
  static_assert(
      !is_task<Body>,
      "spawn() needs a task<void>, because it discards the result: let the task write the "
      "value to an object that outlives the join");
  static_assert(is_task<Body> || returns_exactly<task<void>, Body&>,
                "spawn() needs a task<void>, or a callable that returns one: write "
                "[...]() -> leat::task<> { ...; co_return; }");
  task<void> running = body();
  co_await untraced<void>{std::move(running)};
}

/// Storage for the result of a task that is not awaited in another task.
template <class T>
struct result_slot {
  std::optional<T> value;
  [[nodiscard]] bool has_result() const noexcept { return value.has_value(); }
  T take() { return std::move(*value); }
};
template <class T>
struct result_slot<T&> {
  T* value = nullptr;
  [[nodiscard]] bool has_result() const noexcept { return value != nullptr; }
  T& take() const noexcept { return *value; }
};
template <>
struct result_slot<void> {
  [[nodiscard]] bool has_result() const noexcept { return false; }
  void take() const noexcept {}
};

/// Runs `t` and stores its result in `slot`, which must outlive the task.
template <class T>
task<void> store_result(task<T> t, result_slot<T>& slot) {
  if constexpr (std::is_void_v<T>) {
    co_await untraced<T>{std::move(t)};
  } else if constexpr (std::is_reference_v<T>) {
    slot.value = &co_await untraced<T>{std::move(t)};
  } else {
    slot.value.emplace(co_await untraced<T>{std::move(t)});
  }
}

[[noreturn, gnu::cold]] void throw_body_stopped(std::string_view function);

/// Returns the result that the body of with_task_group() or with_coordinator() has stored.
/// Errors: cancelled if the body was stopped before it returned.
template <class T>
T take_body_result(result_slot<T>& slot, std::string_view function) {
  if constexpr (!std::is_void_v<T>) {
    if (!slot.has_result()) throw_body_stopped(function);
    return slot.take();
  }
}

/// Awaits a task from a coroutine of another type, in an awaiter_in_foreign_coroutine: spawns the
/// task on the current scheduler.
template <class T>
class [[nodiscard]] task_in_foreign_coroutine {
 public:
  explicit task_in_foreign_coroutine(task<T>&& t) : task_(std::move(t)) {}

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> h) {
    scope_.spawn_on(*scheduler::current(), store_result(std::move(task_), slot_), "",
                    std::source_location::current());
    done_.emplace(scope_, root_scope::idle, no_deadline, std::source_location::current());
    return done_->await_suspend(h);
  }
  T await_resume() {
    scope_.rethrow_error();
    return slot_.take();
  }
  operation_result<T> await_tuple() noexcept {
    return result_of_call<T>(to_error_code(scope_.error()), [this]() -> T { return slot_.take(); });
  }

 private:
  task<T> task_;
  result_slot<T> slot_;
  root_scope scope_{"co_await in a foreign coroutine"};
  std::optional<condition_wait> done_;
};

}  // namespace detail

template <class T>
auto task<T>::operator co_await() && noexcept {
  return detail::awaiter_in_foreign_coroutine<detail::task_in_foreign_coroutine<T>>(
      std::move(*this));
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
