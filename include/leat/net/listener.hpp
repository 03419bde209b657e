#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <type_traits>
#include <utility>

#include "leat/async/operation/forms.hpp"
#include "leat/async/task.hpp"
#include "leat/net/connection.hpp"
#include "leat/net/connection_options.hpp"
#include "leat/net/detail/handler_with_default.hpp"
#include "leat/net/detail/listener_state.hpp"
#include "leat/net/endpoint.hpp"
#include "leat/net/listener_statistics.hpp"

namespace LEAT {

/// Accepts connections at an endpoint.
///
///     leat::listener l = co_await leat::listen("*:80");
///     for (;;) {
///       leat::connection c = co_await l.accept();
///       group.spawn(serve(std::move(c)));
///     }
///
/// Movable. A listener that was not created by listen() or adopt() accepts nothing.
///
/// Thread safety: accept() is thread-safe, so tasks of several schedulers may share a listener:
///                each connection belongs to the scheduler of the task that has accepted it. The
///                other members are thread-bound to its scheduler.
/// Lifetime:      destroy it before its scheduler. The destructor closes it.
class listener {
 public:
  /// Creates an empty listener, to which another one can be moved.
  listener() noexcept = default;
  /// For back ends: `a` belongs to the scheduler `s`, which outlives it.
  listener(scheduler& s, std::unique_ptr<network_acceptor> a);
  /// Adopts a listening socket, such as one that systemd or a parent process has passed on. `on`:
  /// its scheduler; null: that of the calling task. exec() closes the descriptor.
  ///
  /// Errors: failed_precondition outside a task; invalid_argument, if the descriptor does not
  ///         listen; system errors. The descriptor is then closed.
  [[nodiscard]] static listener adopt(int descriptor, scheduler* on = nullptr);

  listener(listener&&) noexcept = default;
  /// Closes this listener first, unless it is the same.
  listener& operator=(listener&& other) noexcept {
    if (this != &other) {
      close();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~listener() { close(); }

  /// Waits for a connection, which belongs to the scheduler of the calling task (of the listener,
  /// if called outside a task).
  ///
  /// It fails only after close(), a stop or a limit, or if the system cannot add the connection to
  /// the scheduler; it then stays in the backlog. A connection that fails before it is accepted
  /// is skipped. If the process is out of descriptors, or the system out of memory, accept() tries
  /// again after 10 ms, and then after up to 1 s; clients wait in the backlog meanwhile. leat
  /// reports this on standard error, at most once a minute.
  ///
  /// With a limit of 0, it returns a connection of the backlog, if there is one. Before a server
  /// closes its listener, it can thus accept the remaining ones, which close() would reset. A task
  /// that was asked to stop cannot: its accept() fails with cancelled.
  ///
  /// Waiting accepts are served in order.
  ///
  /// Errors:       cancelled, also after close().
  /// Cancellation: total: an accept() that loses a select() takes no connection.
  /// Cost:         one system call if a connection waits, and no allocation except that of the
  ///               connection.
  [[nodiscard]] awaits<connection> auto accept(
      std::source_location where = std::source_location::current()) {
    return await_operation<detail::accept_operation>(where, state(), nullptr);
  }
  /// Waits like accept(), but the connection belongs to the scheduler `on`.
  [[nodiscard]] awaits<connection> auto accept(
      scheduler& on, std::source_location where = std::source_location::current()) {
    return await_operation<detail::accept_operation>(where, state(), &on);
  }
  /// Waits like accept(), with a completion token. Needs
  /// <leat/async/loop/completion_tokens.hpp>. The connection belongs to the scheduler of the
  /// listener.
  ///
  /// Completion: void(asio_error_code, connection), on the scheduler of the listener if the handler
  ///             has no executor.
  template <class Token>
  auto async_accept(Token&& token, std::source_location where = std::source_location::current()) {
    return asio::async_initiate<Token, void(asio_error_code, connection)>(
        [where](auto&& handler, std::shared_ptr<detail::listener_state> from) {
          scheduler& on = from->get_scheduler();
          using with_default = detail::handler_with_default<std::decay_t<decltype(handler)>>;
          initiate<detail::accept_operation>(where, with_default(std::move(handler), on),
                                             std::move(from), &on);
        },
        token, state());
  }

  /// Stops listening. Waiting accepts end as cancelled. The kernel resets connections in the
  /// backlog, so their requests are lost: to serve these, accept() them first, with a limit of 0.
  void close() noexcept {
    if (state_) state_->close();
  }
  /// Returns true until it is closed.
  [[nodiscard]] bool is_open() const noexcept { return state_ && state_->is_open(); }

  /// Returns the address, with the port that was chosen: "*:80" for all addresses.
  [[nodiscard]] endpoint local() const { return state_ ? state_->local() : endpoint(); }
  /// Returns the counters. Thread safety: thread-safe.
  [[nodiscard]] listener_statistics statistics() const {
    return state_ ? state_->statistics() : listener_statistics();
  }
  /// Returns its scheduler. Precondition: it is not empty.
  [[nodiscard]] scheduler& get_scheduler() const noexcept { return state()->get_scheduler(); }

 private:
  [[nodiscard]] const std::shared_ptr<detail::listener_state>& state() const noexcept {
    LEAT_ASSERT(state_, "listener used that never listened or was moved from");
    return state_;
  }

  std::shared_ptr<detail::listener_state> state_;
};

/// Listens at an endpoint, and resolves it if it is a name. `*` accepts IPv4 and IPv6, or only IPv4
/// if the system has no IPv6. The listener belongs to the scheduler of the calling task.
///
/// A stale file of a Unix socket is replaced, and close() removes the file.
///
/// Errors: those of the system, such as `asio::error::address_in_use`, with the endpoint;
///         not_found, if the name is unknown; failed_precondition outside a task.
[[nodiscard]] task<listener> listen(endpoint at, listen_options options = {});

}  // namespace LEAT
