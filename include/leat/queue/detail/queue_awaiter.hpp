#pragma once

#include <coroutine>
#include <memory>
#include <source_location>
#include <utility>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/task_scope.hpp"
#include "leat/async/wait_limit.hpp"
#include "leat/base/detail/assert.hpp"
#include "leat/queue/detail/blocking_queue_waiter.hpp"
#include "leat/queue/detail/queue_operations.hpp"
#include "leat/queue/queue_base.hpp"

namespace leat::detail {

template <class Operation>
class select_branch;

/// An operation awaited in a coroutine.
///
/// The operation is tried first without a waiter. The waiter, with everything that a dump or a stop
/// needs, is created only when the coroutine suspends. So an operation that completes at once is
/// cheap. Movable until it is awaited.
template <class Queue, class Operation>
class [[nodiscard]] queue_awaiter {
 public:
  template <class... Arguments>
  queue_awaiter(Queue& q, const std::source_location& where, Arguments&&... arguments)
      : call_{q, nullptr, where}, operation_{std::forward<Arguments>(arguments)...} {}
  queue_awaiter(queue_awaiter&& unstarted) noexcept
      : call_(unstarted.call_), operation_(std::move(unstarted.operation_)) {
    LEAT_ASSERT(unstarted.state_ == state::fresh,
                "queue operation moved after it was awaited: create a new one");
  }
  queue_awaiter& operator=(queue_awaiter&&) = delete;
  ~queue_awaiter() {
    if (state_ < state::suspended) return;
    if (state_ == state::suspended && !waiter_.abandon()) {
      static_cast<void>(operation_.result(waiter_.outcome_, waiter_.moved_));
    }
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
                "queue operation awaited twice: create a new one for each co_await");
    if (operation_.count() > 0 && call_.task && call_.task->stop_requested()) {
      state_ = state::stopped;  // final: an untried operation has no memory to wait
      return false;
    }
    if (!operation_.try_complete(call_.queue)) return false;
    state_ = state::done;
    return !call_.task || call_.task->get_scheduler().consume_budget();
  }

  bool await_suspend(std::coroutine_handle<> h) {
    const call c = call_;
    const bool done = state_ == state::done;
    const bool stopped = state_ == state::stopped;
    std::construct_at(&waiter_, c.queue, Operation::the_role, operation_.items(),
                      operation_.count(), c.where);
    state_ = state::resumed;  // if there is no scheduler
    waiter_.begin_wait(c.task, h);
    state_ = state::suspended;
    if (done) {
      waiter_.set_done();
    } else if (stopped || (c.task && c.task->stop_requested())) {
      waiter_.outcome_ = queue_outcome::cancelled;
    } else {
      try {
        if (!c.queue.begin(waiter_)) return true;
      } catch (...) {
        state_ = state::resumed;
        waiter_.abandon_wait();
        throw;
      }
    }
    if (done ||
        (c.task &&
         !c.task->get_scheduler().consume_budget())) {  // ended; but others have their turn first
      waiter_.wake();
      return true;
    }
    waiter_.abandon_wait();
    return false;
  }

  auto await_resume() {
    if (state_ == state::done) return operation_.result(queue_outcome::done, operation_.count());
    state_ = state::resumed;
    waiter_.throw_on_failure();
    return operation_.result(waiter_.outcome_, waiter_.moved_);
  }
  result_tuple<operation_result<Operation>> await_tuple() noexcept {
    if (state_ == state::done)
      return detail::finish(operation_, queue_outcome::done, operation_.count());
    state_ = state::resumed;
    return detail::finish(operation_, waiter_.outcome_, waiter_.moved_, waiter_.error());
  }

  /// The source location of the call, for a select.
  [[nodiscard]] const std::source_location& where() const noexcept { return call_.where; }

 private:
  friend class select_branch<queue_awaiter>;
  struct call {
    Queue& queue;
    task_context* task;
    std::source_location where;
  };
  enum class state : unsigned char { fresh, done, stopped, suspended, resumed };

  union {
    call call_;
    queue_waiter waiter_;  // alive once suspended
  };
  state state_ = state::fresh;
  Operation operation_;
};

/// An operation that blocks an OS thread until it has ended or `limit`, if there is one, ends it.
template <class Queue, class Operation>
class blocking_queue_call {
 public:
  template <class... Arguments>
  static auto run(Queue& q, const wait_limit* limit, const std::source_location& where,
                  Arguments&&... arguments) {
    LEAT_ASSERT(scheduler::current() == nullptr,
                "blocking queue operation on a scheduler thread would deadlock: use co_await");
    Operation operation{std::forward<Arguments>(arguments)...};
    const bool untried = operation.count() > 0 && blocking_queue_waiter::stop_requested(limit);
    if (!untried && operation.try_complete(q)) {
      return operation.result(queue_outcome::done, operation.count());
    }
    blocking_queue_waiter self(q, Operation::the_role, operation.items(), operation.count(), where);
    self.sleep(limit);
    self.throw_on_failure();
    return operation.result(self.outcome_, self.moved_);
  }
};

}  // namespace leat::detail
