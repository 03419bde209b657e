#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "leat/async/loop/scheduler_executor.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/scheduler/service_key.hpp"
#include "leat/async/scheduler/work_item.hpp"
#include "leat/async/task.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/asio.hpp"
#include "leat/net/connection_options.hpp"
#include "leat/net/connection_status.hpp"
#include "leat/net/endpoint.hpp"

#include LEAT_ASIO(basic_stream_socket.hpp)
#include LEAT_ASIO(generic/stream_protocol.hpp)

// The interface between connection, listener, connect() and listen() and a back end. A program
// needs this header only to write a back end of its own.

namespace LEAT {

/// A socket of Asio for any kind of stream: TCP or Unix.
using stream_socket = asio::basic_stream_socket<asio::generic::stream_protocol, scheduler_executor>;

/// A part of the memory of a transfer.
struct transfer_buffer {
  void* data = nullptr;  ///< only read by a write
  std::size_t size = 0;  ///< in bytes
};

/// A read, a write or a wait of a network_stream that is not a socket of Asio. Its creator keeps
/// the buffers until it has ended.
class network_transfer : public work_item {
 public:
  /// The kinds of transfers.
  enum class kind : std::uint8_t { read, write, wait_readable, wait_writable };
  static constexpr std::size_t max_buffers = 16;  ///< further ones are left to the next transfer

  kind what = kind::read;                              ///< its kind
  std::array<transfer_buffer, max_buffers> buffers{};  ///< none is empty
  std::size_t buffer_count = 0;                        ///< of `buffers`
  std::size_t bytes = 0;                               ///< moved; valid once it has ended
  asio_error_code error;                               ///< valid once it has ended
  bool pending = false;                                ///< between start() and its end
  /// Destroys it instead of posting it.
  void (*drop)(network_transfer&) noexcept = nullptr;
};

/// One end of a connection, without the type-safe operations of `connection`.
///
/// Thread safety: thread-bound to the scheduler to which it is attached.
class network_stream {
 public:
  /// Errors: std::bad_alloc.
  network_stream();
  network_stream(const network_stream&) = delete;
  network_stream& operator=(const network_stream&) = delete;
  virtual ~network_stream();

  /// Moves the connection to `on`. Precondition: no operation is pending.
  /// Errors: system errors; std::bad_alloc. On error, nothing has changed.
  virtual void attach(scheduler& on) = 0;
  /// The scheduler to which it is attached. Precondition: attach() was called.
  [[nodiscard]] scheduler& get_scheduler() const noexcept { return *scheduler_; }

  /// Starts a transfer. Posts it to the scheduler when it has ended, possibly before this returns.
  virtual void start(network_transfer& t) noexcept = 0;
  /// Ends a pending transfer soon; it is then posted. If nothing was moved yet, it has no effect.
  virtual void cancel(network_transfer& t) noexcept = 0;
  /// Ends all pending transfers.
  virtual void cancel_all() noexcept = 0;
  /// Sends the end of the stream after what was written.
  virtual asio_error_code shutdown_send() noexcept = 0;
  /// Closes it, with a reset if `resets`. Pending transfers end with `operation_aborted`.
  virtual void close(bool resets) noexcept = 0;
  /// Returns true until close().
  [[nodiscard]] virtual bool is_open() const noexcept = 0;
  /// The address of the peer, also after close(), except that of a Unix socket. Errors:
  /// std::bad_alloc.
  [[nodiscard]] virtual endpoint peer() const = 0;
  /// The local address. Errors: std::bad_alloc.
  [[nodiscard]] virtual endpoint local() const = 0;
  /// The state now.
  [[nodiscard]] virtual connection_status status() const noexcept = 0;
  /// As setsockopt(). Returns the error.
  virtual asio_error_code set_option(int level, int name, const void* value,
                                     std::size_t size) noexcept = 0;
  /// As getsockopt(). Returns the error.
  virtual asio_error_code get_option(int level, int name, void* value,
                                     std::size_t& size) const noexcept = 0;

  /// The socket that performs the transfers, in place of start(); null if there is none.
  [[nodiscard]] stream_socket* asio_socket() const noexcept { return asio_socket_; }

  /// A number that no other stream of the process ever has.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Returns the stream with this number, if it exists and is attached to `s`; otherwise null.
  /// Thread safety: thread-bound to `s`.
  [[nodiscard]] static const network_stream* find(std::uint64_t number,
                                                  const scheduler& s) noexcept;
  /// Records that a transfer of the stream `number`, which may already be destroyed, has failed.
  /// The next one must ask the kernel, because Asio would wait for an event that does not come. Has
  /// no effect if it was only cancelled. Thread safety: thread-safe.
  static void transfer_has_failed(std::uint64_t number, network_transfer::kind k,
                                  const asio_error_code& error) noexcept;
  /// Returns true after transfer_has_failed(), for a read or a write.
  [[nodiscard]] bool must_ask(network_transfer::kind k) const noexcept {
    return must_ask_[static_cast<std::size_t>(k)].load(std::memory_order_relaxed);
  }
  /// Ends the effect of transfer_has_failed(): Asio will see the next event.
  void ask_no_more(network_transfer::kind k) noexcept {
    must_ask_[static_cast<std::size_t>(k)].store(false, std::memory_order_relaxed);
  }
  /// Reads or writes without a wait, and sets the result of `t`. Returns false, without effect, if
  /// it would have to wait.
  [[nodiscard]] virtual bool try_transfer(network_transfer& t) noexcept = 0;

 private:
  std::uint64_t number_;
  std::atomic<bool> must_ask_[2]{};  // a read, a write

 protected:
  scheduler* scheduler_ = nullptr;        ///< set by attach()
  stream_socket* asio_socket_ = nullptr;  ///< set by attach(), or null
};

/// A listening socket. Thread safety: the listener serialises all calls.
class network_acceptor {
 public:
  network_acceptor() = default;
  network_acceptor(const network_acceptor&) = delete;
  network_acceptor& operator=(const network_acceptor&) = delete;
  virtual ~network_acceptor() = default;

  /// Takes the oldest connection of the backlog, unattached. Returns null if there is none, or
  /// after an error.
  [[nodiscard]] virtual std::unique_ptr<network_stream> accept(asio_error_code& error) = 0;
  /// Posts `ready` once, to the scheduler of the listener, when accept() may succeed. Called again
  /// only after it was posted. Errors: std::bad_alloc.
  virtual void wait(work_item& ready) = 0;
  /// Ends a wait soon: `ready` is posted.
  virtual void stop_waiting() noexcept = 0;
  /// Stops listening, and resets the connections of the backlog. A wait ends without a post. Called
  /// on the scheduler of the listener.
  virtual void close() noexcept = 0;
  /// The number of connections in the backlog, if known.
  [[nodiscard]] virtual std::size_t backlog() const noexcept = 0;
  /// The local address, with the port that was chosen.
  [[nodiscard]] virtual endpoint local() const = 0;
};

/// The network of a scheduler: a service, like file_backend. The library creates it for real
/// schedulers when it is first used. To use another one, call scheduler::set_service() before.
///
/// Thread safety: thread-bound to the scheduler.
class network_backend {
 public:
  static const service_key key;  ///< see scheduler::find_service()

  network_backend() = default;
  network_backend(const network_backend&) = delete;
  network_backend& operator=(const network_backend&) = delete;
  virtual ~network_backend() = default;

  /// A word, such as "asio".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Connects to one address, which is not a name. Ends without a connection after a stop.
  [[nodiscard]] virtual task<std::unique_ptr<network_stream>> connect(
      endpoint to, connection_options options) = 0;
  /// Returns the addresses of a name, best first.
  [[nodiscard]] virtual task<std::vector<endpoint>> resolve(endpoint name) = 0;
  /// Listens at an address, which is not a name. Errors: those of the system, such as EADDRINUSE.
  [[nodiscard]] virtual std::unique_ptr<network_acceptor> listen(const endpoint& at,
                                                                 const listen_options& options) = 0;

  /// Owns the tasks of connect().
  [[nodiscard]] task_group& connecting() noexcept { return connecting_; }

 private:
  task_group connecting_{shielded, "connect"};
};

/// Returns the network of `s`, which is created on first use.
/// Errors: failed_precondition, if `s` is simulated or a user-defined scheduler without a network.
[[nodiscard]] network_backend& get_network_backend(scheduler& s);

}  // namespace LEAT
