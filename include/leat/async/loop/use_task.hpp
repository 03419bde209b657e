#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "leat/async/loop/detail/asio_operation.hpp"
#include "leat/async/loop/partial_transfer.hpp"
#include "leat/async/select.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(async_result.hpp)

namespace LEAT_NAMESPACE_OF_ASIO {
template <class CompletionToken>
class redirect_error_t;
template <class T, class CancellationSlot>
class cancellation_slot_binder;
template <class T, class Allocator>
class allocator_binder;
}  // namespace LEAT_NAMESPACE_OF_ASIO

namespace LEAT {

/// The type of use_task.
struct use_task_t {
  /// An executor whose I/O objects have use_task as their default completion token.
  template <class Executor>
  struct executor_with_default : Executor {
    /// The default completion token. Asio needs this name.
    using default_completion_token_type = use_task_t;

    /// Converts an executor.
    executor_with_default(const Executor& e) noexcept : Executor(e) {}
    /// Converts another executor that converts to `Executor`.
    template <class Other>
      requires(!std::same_as<Other, executor_with_default> &&
               std::convertible_to<const Other&, Executor>)
    executor_with_default(const Other& e) noexcept : Executor(e) {}
  };

  /// The type of an I/O object or executor with use_task as its default completion token.
  template <class Object>
  using as_default_on_t = typename Object::template rebind_executor<
      executor_with_default<typename Object::executor_type>>::other;

  /// Adapts an I/O object, so that use_task is its default completion token.
  template <class Object>
  static as_default_on_t<std::decay_t<Object>> as_default_on(Object&& object) {
    return as_default_on_t<std::decay_t<Object>>(std::forward<Object>(object));
  }
};

/// A completion token of Asio with which a leat task awaits an Asio operation.
///
///     std::size_t n = co_await socket.async_read_some(buffer, leat::use_task);
///     co_await leat::with_timeout(asio::async_write(socket, reply, leat::use_task), 5s);
///
/// The operation starts when it is awaited, alone, in select(), in as_tuple() or under a limit. You
/// can move it before that, and await it once. The I/O object and the buffers must outlive the
/// wait.
///
/// The operation uses the caller's memory until it has ended. After a stop request or a limit, leat
/// therefore cancels the operation and waits for its end, unlike other waits, which end at once.
/// The result that the operation reports decides: if it succeeds nevertheless, the task receives
/// the value.
///
/// To make use_task the default token of an I/O object, write
///
///     using timer = leat::use_task_t::as_default_on_t<asio::steady_timer>;
///
/// Result:        nothing, the value, or a tuple of the values that follow the error code or
///                exception in the completion signature.
/// Errors:        failure with the code of the operation; partial_transfer, if an operation that
///                returns a number of bytes has transferred some; the exception of the operation or
///                of its initiation. `cancelled` after a stop, `deadline_exceeded` after a limit.
/// Cancellation:  requests all types of cancellation, of which the operation applies those that it
///                supports. If a stop was requested before, the operation does not start.
/// Thread safety: the task continues on its own scheduler, whichever context completes the
///                operation.
/// Cost:          no allocation in steady state beyond those of Asio.
inline constexpr use_task_t use_task{};

}  // namespace LEAT

/// Creates the awaitable for an operation with one completion signature.
template <class Signature>
class leat::asio::async_result<leat::use_task_t, Signature> {
 public:
  /// Returns the awaitable.
  template <class Initiation, class... Arguments>
  static auto initiate(Initiation&& initiation, leat::use_task_t, Arguments&&... arguments) {
    return leat::detail::asio_operation<Signature, std::decay_t<Initiation>,
                                        std::decay_t<Arguments>...>(
        std::forward<Initiation>(initiation), std::forward<Arguments>(arguments)...);
  }
};

/// Rejects an operation with several completion signatures.
template <class First, class Second, class... Others>
class leat::asio::async_result<leat::use_task_t, First, Second, Others...> {
  static_assert(!std::same_as<First, First>,
                "use_task needs an operation with one completion signature");
};

/// Rejects a token that stores the error code elsewhere.
template <class Signature>
class leat::asio::async_result<leat::asio::redirect_error_t<leat::use_task_t>, Signature> {
  static_assert(!std::same_as<Signature, Signature>,
                "asio::redirect_error() does not support use_task: write co_await "
                "leat::as_tuple(operation(..., leat::use_task)) to receive the error code");
};

/// Rejects a token with a cancellation slot, because leat itself cancels the operation.
template <class CancellationSlot, class Signature>
class leat::asio::async_result<
    leat::asio::cancellation_slot_binder<leat::use_task_t, CancellationSlot>, Signature> {
  static_assert(!std::same_as<Signature, Signature>,
                "asio::bind_cancellation_slot() does not support use_task: cancel the operation "
                "with a limit such as leat::with_timeout(), with leat::with_stop() or in select()");
};

/// Rejects a token with an allocator.
template <class Allocator, class Signature>
class leat::asio::async_result<leat::asio::allocator_binder<leat::use_task_t, Allocator>,
                               Signature> {
  static_assert(!std::same_as<Signature, Signature>,
                "asio::bind_allocator() does not support use_task: write leat::use_task alone, "
                "whose operation is part of the frame of the task");
};
