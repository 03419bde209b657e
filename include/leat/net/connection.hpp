#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

#include "leat/async/loop/internal/associated_wait.hpp"
#include "leat/async/loop/use_task.hpp"
#include "leat/async/task.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/clock.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/net/connection_status.hpp"
#include "leat/net/detail/handled_transfer.hpp"
#include "leat/net/endpoint.hpp"
#include "leat/net/network_backend.hpp"

#include LEAT_ASIO(async_result.hpp)
#include LEAT_ASIO(buffer.hpp)
#include LEAT_ASIO(socket_base.hpp)

// For convenience: most programs that use connections need these.
#include LEAT_ASIO(ip/address.hpp)
#include LEAT_ASIO(read.hpp)
#include LEAT_ASIO(read_until.hpp)
#include LEAT_ASIO(write.hpp)

namespace LEAT {
namespace detail {

// An operation on a socket is Asio's own, with the number of the stream beside its handler. A dump
// derives the name of an operation from the name of these types.

template <network_transfer::kind kind, class Handler, class Buffers>
[[gnu::always_inline]] inline void initiate_transfer(network_stream& s, Handler&& handler,
                                                     const Buffers& buffers) {
  record_stream(handler, s.number());
  if (stream_socket* const socket = s.asio_socket()) [[likely]] {
    if (!s.must_ask(kind)) [[likely]] {
      start_on_socket<kind>(s, *socket, std::forward<Handler>(handler), buffers);
    } else {
      start_again<kind>(s, *socket, std::forward<Handler>(handler), buffers);
    }
  } else {
    start_transfer(s, kind, std::forward<Handler>(handler), buffers);
  }
}

struct initiate_async_read_some {
  network_stream* stream;
  template <class Handler, class Buffers>
  void operator()(Handler&& handler, const Buffers& buffers) const {
    initiate_transfer<network_transfer::kind::read>(*stream, std::forward<Handler>(handler),
                                                    buffers);
  }
};

struct initiate_async_write_some {
  network_stream* stream;
  template <class Handler, class Buffers>
  void operator()(Handler&& handler, const Buffers& buffers) const {
    initiate_transfer<network_transfer::kind::write>(*stream, std::forward<Handler>(handler),
                                                     buffers);
  }
};

struct initiate_async_read_some_or_end {
  network_stream* stream;
  template <class Handler, class Buffers>
  void operator()(Handler&& handler, const Buffers& buffers) const {
    initiate_async_read_some{stream}(
        end_as_value<std::decay_t<Handler>>{std::forward<Handler>(handler)}, buffers);
  }
};

struct initiate_async_wait {
  network_stream* stream;
  template <class Handler>
  void operator()(Handler&& handler, asio::socket_base::wait_type what) const {
    record_stream(handler, stream->number());
    if (stream_socket* const socket = stream->asio_socket()) [[likely]] {
      socket->async_wait(what, std::forward<Handler>(handler));
      return;
    }
    const auto kind = what == asio::socket_base::wait_write ? network_transfer::kind::wait_writable
                                                            : network_transfer::kind::wait_readable;
    start_transfer(*stream, kind,
                   without_bytes<std::decay_t<Handler>>{std::forward<Handler>(handler)},
                   asio::mutable_buffer());
  }
};

}  // namespace detail

/// A stream of bytes to a peer, over TCP or a Unix socket.
///
///     leat::connection c = co_await leat::connect("db:5432");
///     co_await asio::async_write(c, asio::buffer(request), leat::use_task);
///     std::string line;
///     const std::size_t n = co_await asio::async_read_until(c, asio::dynamic_buffer(line), '\n',
///                                                           leat::use_task);
///
/// It models AsyncReadStream and AsyncWriteStream of Asio. Asio's composed operations,
/// `asio::ssl::stream` and Boost.Beast therefore work with it, and so do templates that were
/// written for Asio's sockets. Its own operations have use_task as their default token; Asio's
/// functions need the token as their last argument.
///
/// **Transfers.** A read or write moves between 1 byte and all bytes of its buffers; none if the
/// buffers are empty. If a limit expires, it has either moved nothing or succeeded. See
/// docs/partial_operations.md.
///
/// **Limits and stops** end an operation that has moved nothing, and the connection remains usable.
/// With a limit of 0, `async_read_some()` reads what has arrived; if nothing has, it fails with
/// deadline_exceeded.
///
/// **Closing.** The destructor and close() send what was written and then the end of the stream, in
/// the background. But if data of the peer is still unread, the kernel resets the connection, and
/// the peer may lose the last bytes that were written to it: after a reply, use close_gracefully().
///
/// A connection is empty if it was created by the default constructor or moved from. Call only
/// functions that are documented as allowed on an empty connection.
///
/// Errors:        those of the kernel, as `asio::error` values: `eof` at the end of the stream;
///                after a reset `connection_reset` once, and then `eof` and `broken_pipe`. Compare
///                them with `asio::error` or leat::errc, not with std::errc.
/// Thread safety: thread-bound to its scheduler. At most one read and one write at a time.
/// Lifetime:      the connection and the buffers must outlive its operations. Destroy it before its
///                scheduler; tasks of the scheduler may own it.
/// Cost:          one allocation for each connection.
class connection {
 public:
  using executor_type = scheduler_executor;        ///< as for an I/O object of Asio
  using lowest_layer_type = connection;            ///< for asio::ssl::stream
  using wait_type = asio::socket_base::wait_type;  ///< of async_wait()

  /// Creates an empty connection, to which another one can be moved.
  connection() noexcept = default;
  /// For back ends: a stream that is attached to its scheduler.
  explicit connection(std::unique_ptr<network_stream> s) noexcept : stream_(std::move(s)) {}
  /// Adopts a connected socket of Asio without pending operations, such as
  /// `asio::ip::tcp::socket` or `asio::local::stream_protocol::socket`. The connection belongs to
  /// the scheduler of the calling task.
  ///
  /// Errors: failed_precondition outside a task; system errors. The socket is then closed.
  template <class Socket>
    requires requires(Socket& s) {
      typename std::remove_reference_t<Socket>::protocol_type;
      s.release();
    }
  explicit connection(Socket&& s) : connection(adopt(s.release())) {
    static_assert(!std::is_lvalue_reference_v<Socket>,
                  "connection takes ownership of the socket: write std::move(socket)");
  }
  /// Rejects an operation that was not awaited.
  template <detail::must_be_awaited Operation>
  connection(Operation&&) {
    static_assert(!detail::must_be_awaited<Operation>,
                  "connect() and accept() must be awaited: write co_await leat::connect(endpoint)");
  }
  /// Adopts a connected stream socket, such as one that a parent process has passed on. exec()
  /// closes the descriptor. `on`: the scheduler; null: that of the calling task.
  ///
  /// Errors: failed_precondition outside a task; invalid_argument, if the descriptor is not a
  ///         stream socket; system errors. The descriptor is then closed.
  [[nodiscard]] static connection adopt(int descriptor, scheduler* on = nullptr);

  connection(connection&&) noexcept = default;
  connection& operator=(connection&&) noexcept = default;
  /// Closes it.
  ~connection() = default;

  // ---- Interface of an Asio I/O object.

  /// Returns the executor of the scheduler.
  [[nodiscard]] executor_type get_executor() const noexcept {
    return executor_type(stream().get_scheduler());
  }
  /// Returns this object.
  [[nodiscard]] lowest_layer_type& lowest_layer() noexcept { return *this; }
  /// Returns this object.
  [[nodiscard]] const lowest_layer_type& lowest_layer() const noexcept { return *this; }

  /// Reads at least one byte, as soon as data is available.
  ///
  /// Completion: void(asio_error_code, std::size_t)
  template <class Buffers, class Token = use_task_t>
  auto async_read_some(const Buffers& buffers, Token&& token = {}) {
    return asio::async_initiate<Token, void(asio_error_code, std::size_t)>(
        detail::initiate_async_read_some{&stream()}, token, buffers);
  }
  /// Writes at least one byte, as soon as the kernel has memory for it.
  ///
  /// Completion: void(asio_error_code, std::size_t)
  template <class Buffers, class Token = use_task_t>
  auto async_write_some(const Buffers& buffers, Token&& token = {}) {
    return asio::async_initiate<Token, void(asio_error_code, std::size_t)>(
        detail::initiate_async_write_some{&stream()}, token, buffers);
  }
  /// Reads like async_read_some(), but the end of the stream is an empty optional rather than an
  /// error:
  ///
  ///     while (const auto n = co_await c.async_read_some_or_end(asio::buffer(bytes))) use(*n);
  ///
  /// Completion: void(asio_error_code, std::optional<std::size_t>)
  template <class Buffers, class Token = use_task_t>
  auto async_read_some_or_end(const Buffers& buffers, Token&& token = {}) {
    return asio::async_initiate<Token, void(asio_error_code, std::optional<std::size_t>)>(
        detail::initiate_async_read_some_or_end{&stream()}, token, buffers);
  }
  /// Waits until the connection is readable or writable. A server can thus hold many idle
  /// connections without buffers for them.
  ///
  /// Completion: void(asio_error_code)
  template <class Token = use_task_t>
  auto async_wait(wait_type what, Token&& token = {}) {
    return asio::async_initiate<Token, void(asio_error_code)>(
        detail::initiate_async_wait{&stream()}, token, what);
  }

  /// Ends all operations with `operation_aborted`. The connection remains usable. Allowed if empty.
  void cancel() noexcept {
    if (stream_) stream_->cancel_all();
  }

  // ---- Closing.

  /// Sends the end of the stream after what was written. Reads continue. Returns the error, such as
  /// `not_connected` after a reset; most programs ignore it, because the next read reports it.
  asio_error_code shutdown_send() noexcept { return stream().shutdown_send(); }
  /// Closes it: see the class. Pending operations end with `operation_aborted`, and later ones fail
  /// with `bad_descriptor`. Allowed if empty.
  void close() noexcept {
    if (stream_) stream_->close(false);
  }
  /// Closes it with a reset: discards unsent data, and the peer sees `connection_reset`. On a Unix
  /// socket, like close(). Allowed if empty.
  void reset() noexcept {
    if (stream_) stream_->close(true);
  }
  /// Returns true until close(), even if the peer has closed it. Allowed if empty.
  [[nodiscard]] bool is_open() const noexcept { return stream_ && stream_->is_open(); }

  // ---- Properties. Allowed if empty.

  /// Returns the address of the peer, also after a reset and after close(). For a Unix socket: the
  /// path where the peer listens; empty for a client, and after close(). Errors: std::bad_alloc.
  [[nodiscard]] endpoint peer() const { return stream_ ? stream_->peer() : endpoint(); }
  /// Returns the local address, or an empty endpoint after close(). Errors: std::bad_alloc.
  [[nodiscard]] endpoint local() const { return stream_ ? stream_->local() : endpoint(); }
  /// Asks the kernel for the state. Cost: up to three system calls.
  [[nodiscard]] connection_status status() const noexcept {
    return stream_ ? stream_->status() : connection_status();
  }
  /// Returns the socket of Asio, for functions that leat does not provide; null for the connection
  /// of another back end.
  [[nodiscard]] stream_socket* asio_socket() noexcept {
    return stream_ ? stream_->asio_socket() : nullptr;
  }

  // ---- Others.

  /// Returns the scheduler of its operations.
  [[nodiscard]] scheduler& get_scheduler() const noexcept { return stream().get_scheduler(); }
  /// Moves it to the scheduler `on`. Precondition: no operation is pending, and this is the thread
  /// of its scheduler. Errors: system errors; std::bad_alloc. On error, nothing has changed.
  void attach(scheduler& on) { stream().attach(on); }

  /// Sets an option of Asio, such as `asio::ip::tcp::no_delay(false)`.
  /// Errors: system errors, as failure.
  template <class Option>
  void set_option(const Option& option) {
    check(stream().set_option(option.level(any_protocol()), option.name(any_protocol()),
                              option.data(any_protocol()), option.size(any_protocol())),
          "set_option");
  }
  /// Reads an option of Asio. Errors: system errors, as failure.
  template <class Option>
  void get_option(Option& option) const {
    std::size_t size = option.size(any_protocol());
    check(stream().get_option(option.level(any_protocol()), option.name(any_protocol()),
                              option.data(any_protocol()), size),
          "get_option");
    if (size != option.size(any_protocol())) option.resize(any_protocol(), size);
  }

  /// Returns the stream, for back ends.
  [[nodiscard]] network_stream& stream() const noexcept {
    LEAT_ASSERT(stream_, "connection used that was never connected or was moved from");
    return *stream_;
  }

 private:
  static asio::generic::stream_protocol any_protocol() noexcept { return {0, 0}; }
  static void check(asio_error_code ec, const char* what);

  std::unique_ptr<network_stream> stream_;
};

/// Sends the end of the stream, reads and discards until the peer closes or `limit` expires, and
/// then closes the connection. A close with unread data would reset it, and the peer might lose the
/// last bytes that were written to it. Use it after the last reply of a server.
///
/// Errors: none; an error of the connection ends it. Cancellation: a stop ends it early.
[[nodiscard]] task<> close_gracefully(connection c, time_span limit = std::chrono::seconds(2));

}  // namespace LEAT
