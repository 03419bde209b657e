#pragma once

#include <concepts>
#include <exception>
#include <source_location>
#include <type_traits>
#include <utility>

#include "leat/async/condition_wait.hpp"
#include "leat/async/loop/asio_scheduler.hpp"
#include "leat/async/loop/detail/asio_operation_ptr.hpp"
#include "leat/async/loop/detail/work_guard.hpp"
#include "leat/async/loop/scheduler_executor.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/internal/local_types.hpp"

#include LEAT_ASIO(associated_cancellation_slot.hpp)
#include LEAT_ASIO(associated_executor.hpp)
#include LEAT_ASIO(async_result.hpp)
#include LEAT_ASIO(execution/executor.hpp)
#include LEAT_ASIO(ts/netfwd.hpp)  // declares any_io_executor

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {
namespace detail {

/// Returns the scheduler of a type-erased executor: one of an io_context, a scheduler_executor, or
/// a strand of one of these. An executor of another kind ends the process.
[[nodiscard]] scheduler& get_scheduler_of(const asio::any_io_executor& executor) noexcept;

template <class Executor>
scheduler& get_scheduler_of(const Executor& executor) {
  if constexpr (std::derived_from<Executor, scheduler_executor>) {
    return executor.get_scheduler();
  } else if constexpr (requires {
                         { executor.context() } -> std::same_as<asio::io_context&>;
                       }) {
    return leat::get_scheduler(executor.context());
  } else if constexpr (requires { executor.get_inner_executor(); }) {
    return get_scheduler_of(executor.get_inner_executor());
  } else {
    return get_scheduler_of(asio::any_io_executor(executor));
  }
}

template <class T>
struct run_signature {
  static_assert(!std::is_reference_v<T>,
                "async_run() needs a task without a reference result: return a pointer");
  static_assert(
      std::default_initializable<T>,
      "async_run() needs a default-constructible result: let the task return std::optional");
  using type = void(std::exception_ptr, T);
};
template <>
struct run_signature<void> {
  using type = void(std::exception_ptr);
};

/// The type of `co_await` on a task or an operation in a task.
template <class Awaitable>
auto awaited_type(Awaitable& a) {
  if constexpr (requires { a.await_resume(); }) {
    return std::type_identity<decltype(a.await_resume())>();
  } else {
    return std::type_identity<decltype(get_awaiter(std::move(a)).await_resume())>();
  }
}
template <class Body>
using awaited_result = typename decltype(awaited_type(
    std::declval<std::remove_cvref_t<std::invoke_result_t<Body&>>&>()))::type;

/// Calls `body`, and awaits the task or operation that it returns.
template <class Body>
task<awaited_result<Body>> run_operation(Body body) {
  co_return co_await body();
}

/// A task with a completion handler, and the owner of the task until the handler has been called.
///
/// It is stored in memory of the handler's allocator. It is destroyed only on the handler's
/// executor, so that a cancellation emitted there always finds it intact.
template <class T, class Handler, class Executor>
class async_run_operation final : private task_scope {
 public:
  using handler_type = Handler;

  static void start(const Executor& executor, task<T> t, Handler handler,
                    const std::source_location& where) {
    const auto allocator = asio::get_associated_allocator(handler);
    ptr self = ptr::make(allocator, executor, std::move(handler), where);
    self->listen();  // no cancellation is emitted before this returns
    try {
      self->spawn_on(get_scheduler_of(executor), store_result(std::move(t), self->result_), "",
                     where);
    } catch (...) {
      self->stop_listening();
      throw;
    }
    async_run_operation& running = *self.release();
    running.when_idle(running.ended_);
  }

  async_run_operation(const Executor& executor, Handler&& handler,
                      const std::source_location& where)
      : task_scope("async_run", "", nullptr),
        handler_(std::move(handler)),
        work_(asio::get_associated_executor(handler_, executor)),
        ended_(*this, where) {}

 private:
  using ptr = asio_operation_ptr<async_run_operation>;

  struct completion_wait : condition_wait {
    completion_wait(async_run_operation& o, const std::source_location& where) noexcept
        : condition_wait(o, idle, no_deadline, where), owner(o) {
      run_ = [](work_item& item) noexcept {
        async_run_operation& self = static_cast<completion_wait&>(item).owner;
        // Never inside the scheduler's turn: the handler is user code and may do what it likes.
        const auto executor = self.work_.get_executor();
        ptr(self).post_to(executor);
      };
    }
    async_run_operation& owner;
  };

  friend ptr;

  void task_failed(std::exception_ptr error) noexcept override { error_ = std::move(error); }

  void listen() {
    auto cancellation = asio::get_associated_cancellation_slot(handler_);
    if (!cancellation.is_connected()) return;
    cancellation.assign([this](asio::cancellation_type type) {
      if (type != asio::cancellation_type::none) request_scope_stop();
    });
  }

  void stop_listening() noexcept {
    auto cancellation = asio::get_associated_cancellation_slot(handler_);
    if (cancellation.is_connected()) cancellation.clear();
  }

  void finish(ptr& memory) {
    stop_listening();
    // Memory is given back before the handler is called: it may start the next operation in it.
    Handler handler(std::move(handler_));
    [[maybe_unused]] const auto work = std::move(work_);
    const std::exception_ptr error = std::move(error_);
    auto result = std::move(result_);
    memory.reset();
    if constexpr (std::is_void_v<T>) {
      std::move(handler)(error);
    } else {
      std::move(handler)(error, error ? T() : result.take());
    }
  }

  Handler handler_;
  post_memory post_memory_;
  work_guard<asio::associated_executor_t<Handler, Executor>> work_;
  result_slot<T> result_;
  std::exception_ptr error_;
  completion_wait ended_;
};

}  // namespace detail

/// Starts a task on the scheduler of the executor, and calls a completion handler after the task
/// has finished. The executor belongs to an io_context, directly or through a strand, or is a
/// scheduler_executor. Accepts any completion token.
///
///     leat::async_run(io, serve(request), [](std::exception_ptr error, reply r) { ... });
///     auto r = co_await leat::async_run(executor, serve(request), asio::use_awaitable);
///
/// With `asio::detached`, the error of the task is lost.
///
/// An executor without a scheduler, as of a thread_pool, ends the process with a message.
///
/// Completion:    void(std::exception_ptr, T); void(std::exception_ptr) for task<void>. If there is
///                an error, the value is T().
/// Errors:        the handler receives the exception that the task threw. The initiation throws
///                std::bad_alloc if memory runs out; no task has then started.
/// Cancellation:  terminal, partial and total cancellation request a stop of the task. If the task
///                returns nevertheless, the handler receives its result.
/// Thread safety: thread-safe. The handler runs on its associated executor (default: `executor`),
///                never inside this call. It runs between the turns of the scheduler, unless the
///                executor is a scheduler_executor.
/// Cost:          one allocation with the handler's associated allocator, and one post.
template <class T, class Executor, class CompletionToken>
  requires(asio::execution::is_executor<Executor>::value)
auto async_run(const Executor& executor, task<T> t, CompletionToken&& token,
               std::source_location where = std::source_location::current()) {
  using signature = typename detail::run_signature<T>::type;
  static_assert(detail::completion_handler<std::decay_t<CompletionToken>, signature>::is_function);
  static_assert(!detail::rethrows_null<std::decay_t<CompletionToken>>,
                "async_run() with a yield_context needs Boost 1.84, because earlier versions "
                "rethrow an exception that there is not: write asio::as_tuple(yield)");
  return asio::async_initiate<CompletionToken, signature>(
      [executor, where](auto&& handler, task<T> body) {
        using handler_type = std::decay_t<decltype(handler)>;
        detail::async_run_operation<T, handler_type, Executor>::start(
            executor, std::move(body), std::forward<decltype(handler)>(handler), where);
      },
      token, std::move(t));
}

/// Like async_run() with an executor, but on an io_context.
template <class T, class CompletionToken, std::derived_from<asio::io_context> Context>
auto async_run(Context& io, task<T> t, CompletionToken&& token,
               std::source_location where = std::source_location::current()) {
  return async_run(io.get_executor(), std::move(t), std::forward<CompletionToken>(token), where);
}

/// Like async_run() with a task, but for any operation of leat: calls `body` in a task on the
/// scheduler of the executor, and awaits the task or operation that `body` returns.
///
///     auto done = co_await leat::async_run(
///         executor, [&] { return leat::select(a.pop(), b.pop()); }, asio::use_awaitable);
///
/// The handler receives the result of the operation. async_run() keeps `body` until the operation
/// has completed.
///
/// Cancellation: requests a stop. If the operation has completed before, the handler receives its
///               result: a pop that has completed is not undone. Therefore do not join two calls by
///               `||`, which drops the second result: return a select() from one `body`.
template <class Body, class Executor, class CompletionToken>
  requires(asio::execution::is_executor<Executor>::value &&
           !detail::is_task<std::remove_cvref_t<Body>>)
auto async_run(const Executor& executor, Body&& body, CompletionToken&& token,
               std::source_location where = std::source_location::current()) {
  static_assert(detail::returns_awaitable<std::decay_t<Body>&>,
                "async_run() needs a task, or a callable that returns a task or an operation of "
                "leat: write [&] { return queue.pop(); }");
  return async_run(executor, detail::run_operation<std::decay_t<Body>>(std::forward<Body>(body)),
                   std::forward<CompletionToken>(token), where);
}

/// Like async_run() with an executor and a callable, but on an io_context.
template <class Body, class CompletionToken, std::derived_from<asio::io_context> Context>
  requires(!detail::is_task<std::remove_cvref_t<Body>>)
auto async_run(Context& io, Body&& body, CompletionToken&& token,
               std::source_location where = std::source_location::current()) {
  return async_run(io.get_executor(), std::forward<Body>(body),
                   std::forward<CompletionToken>(token), where);
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END

namespace LEAT_NAMESPACE_OF_ASIO {

/// Rejects a leat::task, with an error message that names leat::async_run().
template <class Where, class T, class CompletionToken>
auto co_spawn(Where&&, leat::task<T> task, CompletionToken&&) {
  static_assert(!std::same_as<leat::task<T>, leat::task<T>>,
                "asio::co_spawn() cannot start a leat::task: write leat::async_run(executor, task, "
                "token)");
  return task;  // so that this is the only error of a caller that awaits the result
}

}  // namespace LEAT_NAMESPACE_OF_ASIO
