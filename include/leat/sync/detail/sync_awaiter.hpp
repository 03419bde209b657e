#pragma once

#include <coroutine>
#include <memory>
#include <source_location>
#include <utility>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/detail/result_tuple.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/base/detail/assert.hpp"
#include "leat/sync/detail/blocking_sync_waiter.hpp"
#include "leat/sync/detail/sync_base.hpp"

namespace leat::detail {

// The forms of an operation on a primitive. The operation is a class with
//
//     using object_type;                            // the primitive
//     static const wait_operation::kind wait_kind;  // for dumps
//     std::size_t request() noexcept;               // see sync_waiter
//     bool try_complete(object_type&, sync_caller) noexcept;  // without a wait
//     auto result(object_type&, sync_outcome);      // of `done` or `closed`
//     void undo(object_type&) noexcept;             // it is done, and result() is not called
//     static constexpr bool undoable;               // false: the effect of undo() is incomplete

template <class Operation>
using sync_result = decltype(std::declval<Operation&>().result(
    std::declval<typename Operation::object_type&>(), sync_outcome::done));

/// Returns the result of an operation that has ended as a tuple, with or without `error`.
template <class Operation>
[[nodiscard]] result_tuple<sync_result<Operation>> finish(Operation& operation,
                                                          typename Operation::object_type& object,
                                                          sync_outcome o,
                                                          std::error_code error = {}) noexcept {
  return tuple_of<sync_result<Operation>>(error, [&] { return operation.result(object, o); });
}

/// An operation awaited in a coroutine. Like a queue_awaiter, it is tried first without a waiter.
/// Movable until it is awaited.
template <class Operation>
class [[nodiscard]] sync_awaiter {
  using object_type = typename Operation::object_type;

 public:
  sync_awaiter(object_type& object, Operation operation, const std::source_location& where)
      : call_{object, nullptr, where}, operation_(std::move(operation)) {}
  sync_awaiter(sync_awaiter&& unstarted) noexcept
      : call_(unstarted.call_), operation_(std::move(unstarted.operation_)) {
    LEAT_ASSERT(unstarted.state_ == state::fresh,
                "operation moved after it was awaited: create a new one");
  }
  sync_awaiter& operator=(sync_awaiter&&) = delete;
  ~sync_awaiter() {
    if (state_ < state::suspended) return;
    if (state_ == state::suspended && waiter_.abandon()) operation_.undo(object());
    std::destroy_at(&waiter_);
  }

  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  /// Called by leat::task before anything else.
  void bind(promise_base& promise, std::coroutine_handle<>) noexcept {
    call_.task = &promise.context();
  }

  [[gnu::always_inline]] bool await_ready() {
    LEAT_ASSERT(state_ == state::fresh,
                "operation awaited twice: create a new one for each co_await");
    if (call_.task && call_.task->stop_requested()) {
      state_ = state::stopped;
      return false;
    }
    if (!operation_.try_complete(call_.object, {call_.task, call_.where})) return false;
    state_ = state::done;
    return !call_.task || call_.task->get_scheduler().consume_budget();
  }

  bool await_suspend(std::coroutine_handle<> h) {
    const call c = call_;
    const bool done = state_ == state::done;
    const bool stopped = state_ == state::stopped;
    std::construct_at(&waiter_, c.object, Operation::wait_kind, operation_.request(), c.where);
    state_ = state::resumed;  // if there is no scheduler
    waiter_.begin_wait(c.task, h);
    state_ = state::suspended;
    if (done) {
      waiter_.outcome_ = sync_outcome::done;
    } else if (stopped || (c.task && c.task->stop_requested())) {
      waiter_.outcome_ = sync_outcome::cancelled;
    } else if (!begin(c.object)) {
      return true;
    }
    if (done || (c.task && !c.task->get_scheduler().consume_budget())) {
      waiter_.wake();  // it has ended, but others have their turn first
      return true;
    }
    waiter_.abandon_wait();
    return false;
  }

  auto await_resume() {
    if (state_ == state::done) return operation_.result(call_.object, sync_outcome::done);
    state_ = state::resumed;
    waiter_.throw_on_failure();
    return operation_.result(object(), waiter_.outcome_);
  }
  result_tuple<sync_result<Operation>> await_tuple() noexcept {
    if (state_ == state::done) return finish(operation_, call_.object, sync_outcome::done);
    state_ = state::resumed;
    return finish(operation_, object(), waiter_.outcome_, waiter_.error());
  }

  /// The source location of the call, for a select.
  [[nodiscard]] const std::source_location& where() const noexcept { return call_.where; }

 private:
  friend class select_branch<sync_awaiter>;
  struct call {
    object_type& object;
    task_context* task;
    std::source_location where;
  };
  enum class state : unsigned char { fresh, done, stopped, suspended, resumed };

  [[nodiscard]] bool begin(sync_base& object) noexcept { return object.begin(waiter_); }
  // The vptr sanitizer would read the object, but an event may be gone when its task resumes.
  [[nodiscard]] __attribute__((no_sanitize("vptr"))) object_type& object() const noexcept {
    return static_cast<object_type&>(waiter_.object_);
  }

  union {
    call call_;
    sync_waiter waiter_;  // alive once suspended
  };
  state state_ = state::fresh;
  Operation operation_;
};

/// Runs an operation that blocks an OS thread until it has ended or `limit`, if there is one, ends
/// it.
template <class Operation>
auto block_on(typename Operation::object_type& object, Operation operation, const wait_limit* limit,
              const std::source_location& where) {
  LEAT_ASSERT(scheduler::current() == nullptr,
              "blocking operation on a scheduler thread would deadlock: use co_await");
  if (!blocking_sync_waiter::stop_requested(limit) &&
      operation.try_complete(object, {nullptr, where})) {
    return operation.result(object, sync_outcome::done);
  }
  blocking_sync_waiter self(object, Operation::wait_kind, operation.request(), where);
  self.sleep(limit);
  self.throw_on_failure();
  return operation.result(object, self.outcome_);
}

}  // namespace leat::detail
