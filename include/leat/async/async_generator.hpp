#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/async/detail/asio_misuse.hpp"
#include "leat/async/detail/awaiter_in_foreign_coroutine.hpp"
#include "leat/async/detail/operation_results.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/detail/task_branch.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {

namespace detail {
template <class T>
class generator_promise;
template <class T>
class next_awaiter;
}  // namespace detail

/// A coroutine that returns a sequence of values with `co_yield`, one for each call of next().
///
///     leat::async_generator<message> messages(connection& from) {
///       while (auto line = co_await from.read_line()) co_yield parse(*line);
///     }
///
///     auto all = messages(peer);
///     while (auto m = co_await all.next()) handle(*m);
///
/// A generator can await everything that a task can. It is lazy: it runs only while a task awaits
/// next(), and as a part of that task. It therefore shares the scheduler, stop request and name of
/// the task. A generator that never waits needs no more stack for a million values than for one.
/// Other tasks run after 256 values; call this_task::yield() in a long loop that yields no value.
///
/// If the body exits with an exception, next() throws it, and each later call throws it again. In
/// particular, a stop request ends a wait in the generator with `cancelled`, which ends the
/// generator unless its body catches the exception.
///
/// You can destroy a generator at any time when no next() is in progress. The local variables of
/// its body are then destroyed at the `co_yield`, without a chance to wait.
///
/// T: an object type, which may be move-only. To yield a large object without moving it, yield a
///    pointer.
///
/// Thread safety: thread-compatible; one next() at a time. Any task may call it, but let one task
///                call it if the body keeps a task group or another scope across a `co_yield`.
/// Cost: one frame from a recycling allocator. A value costs one move and no allocation, and takes
///       fewer instructions than the await of a child task.
template <class T>
class [[nodiscard]] async_generator {
  static_assert(std::is_object_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
                "async_generator<T> needs an object type T without const: to yield references, "
                "yield pointers");
  static_assert(std::move_constructible<T>, "async_generator<T> needs a T that can be moved");
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                "the values of an async_generator have a larger alignment than the frame of a "
                "coroutine: yield them in a std::unique_ptr or a std::vector");

 public:
  using value_type = T;
  /// The promise of the coroutine. The compiler needs this name; programs must not use it.
  using promise_type = detail::generator_promise<T>;

  /// Creates an empty generator. Assign a generator to it before you use it.
  async_generator() = default;
  async_generator(async_generator&& other) noexcept : handle_(other.release()) {}
  async_generator& operator=(async_generator&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = other.release();
    }
    return *this;
  }
  ~async_generator() { destroy(); }

  /// Returns false if the generator is empty: default constructed or moved from.
  [[nodiscard]] bool valid() const noexcept { return handle_ != nullptr; }

  /// Resumes the body until its next `co_yield` and returns the value; returns an empty optional if
  /// the body has ended.
  ///
  /// A limit and select() accept next() as an irrevocable operation: it runs in a task of its own,
  /// which is asked to stop if the limit expires or another operation wins. Unless the body catches
  /// `cancelled`, this ends the generator. No value is lost: if the generator yields one
  /// nevertheless, next() wins.
  ///
  /// Precondition: the generator is not empty, no other next() is in progress, and the generator is
  ///               neither moved nor destroyed before this one has returned.
  /// Errors:       the exception with which the body has exited, now or earlier.
  /// Cancellation: a stop request ends the wait in the body, as in an awaited task.
  [[nodiscard]] detail::next_awaiter<T> next(
      std::source_location where = std::source_location::current()) noexcept {
    return {*this, where};
  }

 private:
  friend class detail::generator_promise<T>;
  friend class detail::next_awaiter<T>;
  using handle = std::coroutine_handle<promise_type>;

  explicit async_generator(handle h) noexcept : handle_(h) {}

  [[nodiscard]] handle release() noexcept {
    LEAT_ASSERT(!handle_ || !handle_.promise().is_running(),
                "async_generator moved while its next() is in progress: await next() first");
    return std::exchange(handle_, nullptr);
  }
  void destroy() noexcept {
    if (!handle_) return;
    if (handle_.promise().is_running()) [[unlikely]] {
      promise_type::destroy_running(handle_);
    } else {
      handle_.destroy();
    }
  }

  handle handle_;
};

namespace detail {

[[nodiscard, gnu::cold]] failure next_outside_task();

/// Lets other tasks run before the task that has received a value continues, because it has used up
/// its share of the turn.
class generator_turn final : public wait_operation {
 public:
  generator_turn() noexcept;

  /// Posts the task `c`, whose coroutine `reader` awaits next() at `where`.
  void begin(task_context& c, std::coroutine_handle<> reader,
             const std::source_location& where) noexcept;
};

template <class T>
class generator_promise final : public awaiting_promise {
  // The value of a `co_yield` of an lvalue.
  struct yielded_copy {
    generator_promise& promise;
    T value;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) noexcept { promise.pause(value); }
    void await_resume() const noexcept {}
  };

 public:
  async_generator<T> get_return_object() noexcept {
    return async_generator<T>(std::coroutine_handle<generator_promise>::from_promise(*this));
  }
  // The value lives until the generator is resumed: it is a temporary of the `co_yield`, or an
  // object of the body.
  std::suspend_always yield_value(T&& value) noexcept {
    pause(value);
    return {};
  }
  yielded_copy yield_value(const T& value)
    requires std::copy_constructible<T>
  {
    return {*this, value};
  }
  void return_void() const noexcept {}

  /// Returns true while a task awaits next(), and until it has received the value.
  [[nodiscard]] bool is_running() const noexcept { return link() != nullptr; }

  /// Runs the body for the next() of `link`.
  void resume_for(awaiter_link& link) noexcept {
    LEAT_ASSERT(!is_running(),
                "next() of an async_generator whose previous next() is still in progress: await "
                "one at a time, and never in the generator itself");
    continue_with(link);
    context().get_scheduler().transfer_to(coroutine());
  }

  /// Returns the value that the body has yielded, or null if it has ended.
  [[nodiscard]] T* take_value() noexcept {
    T* const value = std::exchange(value_, nullptr);
    if (value) [[likely]]
      detach();
    return value;
  }

  /// Returns the exception with which the body has ended, or null.
  [[nodiscard, gnu::cold]] const std::exception_ptr& take_end() noexcept {
    if (is_running()) {
      error_ = take_error();
      detach();
    }
    return error_;
  }

  /// Destroys a generator whose next() is in progress. That is an error, unless the scheduler ends
  /// its tasks and destroys the task that awaits next() later.
  [[gnu::cold]] static void destroy_running(
      std::coroutine_handle<generator_promise> running) noexcept {
    LEAT_ASSERT(scheduler::current_is_ending(),
                "async_generator destroyed while its next() is in progress: join the task that "
                "awaits next() first");
    task_context& reader = running.promise().leave_context();
    running.promise().link()->parent = nullptr;  // tells next_awaiter
    running.destroy();
    end_wait(reader);
  }

 private:
  void pause(T& value) noexcept {
    value_ = std::addressof(value);
    if (context().get_scheduler().consume_budget()) [[likely]] {
      transfer_to_parent();
    } else {
      turn_.begin(leave_context(), link()->parent->coroutine(), link()->where);
    }
  }

  T* value_ = nullptr;
  generator_turn turn_;
  std::exception_ptr error_;
};

/// The awaitable that next() returns. Movable until it is awaited.
template <class T>
class [[nodiscard]] next_awaiter {
 public:
  using own_awaiter = void;  // a coroutine of another type awaits a task

  next_awaiter(async_generator<T>& g, const std::source_location& where) noexcept
      : generator_(g), link_{nullptr, nullptr, where} {}
  next_awaiter(next_awaiter&& unstarted) noexcept
      : next_awaiter(unstarted.generator_, unstarted.where()) {}
  next_awaiter& operator=(next_awaiter&&) = delete;
  // If the task is destroyed with its scheduler, inner frames are destroyed before outer ones.
  ~next_awaiter() {
    if (is_running_ && link_.parent) [[unlikely]]
      std::exchange(generator_.handle_, nullptr).destroy();
  }

  /// Returns the source location of the call of next().
  [[nodiscard]] const std::source_location& where() const noexcept { return link_.where; }

  /// Explains the error of a `co_await` in a coroutine of Asio.
  template <awaitable_of_operation Asio>
  operator Asio() const noexcept;

  /// Called by a leat coroutine before anything else.
  void bind(promise_base& parent, std::coroutine_handle<>) noexcept { link_.parent = &parent; }

  bool await_ready() const noexcept {
    LEAT_ASSERT(generator_.valid(),
                "next() of an empty async_generator: it was default constructed or moved from");
    return generator_.handle_.done();
  }
  void await_suspend(std::coroutine_handle<>) {
    if (!link_.parent) throw next_outside_task();
    is_running_ = true;
    promise().resume_for(link_);
  }
  std::optional<T> await_resume() {
    is_running_ = false;
    if (T* const value = promise().take_value()) [[likely]]
      return std::optional<T>(std::move(*value));
    if (const std::exception_ptr& error = promise().take_end()) std::rethrow_exception(error);
    return std::nullopt;
  }
  operation_result<std::optional<T>> await_tuple() noexcept {
    is_running_ = false;
    T* const value = promise().take_value();
    return result_of_call<std::optional<T>>(
        value ? std::error_code() : to_error_code(promise().take_end()),
        [value] { return value ? std::optional<T>(std::move(*value)) : std::optional<T>(); });
  }

  /// Returns a task that awaits the next value.
  [[nodiscard]] task<std::optional<T>> in_task() && { return run(generator_, where()); }

  /// Awaits the next value in a coroutine of another type.
  auto operator co_await() && {
    return awaiter_in_foreign_coroutine<task_in_foreign_coroutine<std::optional<T>>>(
        std::move(*this).in_task());
  }

 private:
  static task<std::optional<T>> run(async_generator<T>& g, std::source_location where) {
    co_return co_await g.next(where);
  }
  [[nodiscard]] generator_promise<T>& promise() const noexcept {
    return generator_.handle_.promise();
  }

  async_generator<T>& generator_;
  awaiter_link link_;
  bool is_running_ = false;  // while the body runs
};

/// True, because a value that the generator has yielded cannot be returned to it.
template <class T>
inline constexpr bool irrevocable<next_awaiter<T>> = true;

template <class T>
class select_branch<next_awaiter<T>> : public select_branch<task<std::optional<T>>> {
 public:
  select_branch(next_awaiter<T>&& operation, select_state& s, int index)
      : select_branch<task<std::optional<T>>>(std::move(operation).in_task(), s, index) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch<task<std::optional<T>>>(std::move(unstarted), s, index) {}
};

}  // namespace detail
}  // namespace LEAT
