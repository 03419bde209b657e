#pragma once

#include <cstddef>
#include <optional>
#include <system_error>

#include "leat/base/internal/descriptor.hpp"
#include "leat/net/network_backend.hpp"
#include "net/socket_address.hpp"

namespace LEAT::detail {

/// A connection of the kernel. Once it is attached, a socket of Asio performs its transfers.
class asio_stream final : public network_stream {
 public:
  /// Has no socket yet: take() is the second step, so that a lack of memory loses none.
  /// Errors: std::bad_alloc.
  asio_stream() = default;
  /// Takes a connected socket and its peer.
  void take(descriptor& socket, const socket_address& peer) noexcept {
    descriptor_ = socket.release();
    keep_peer(peer);
  }
  ~asio_stream() override;

  static void* operator new(std::size_t size);
  static void operator delete(void* p, std::size_t size) noexcept;

  /// Checks a descriptor from elsewhere, finds its peer, and takes it. Errors: invalid_argument;
  /// system errors. Without effect.
  void adopt(descriptor& socket);
  /// Sets the options. Returns the error.
  asio_error_code apply(const connection_options& options) noexcept;
  /// The descriptor, whether it is attached or not; -1 after close().
  [[nodiscard]] int number_of_socket() const noexcept;

  void attach(scheduler& on) override;
  void start(network_transfer& t) noexcept override;
  void cancel(network_transfer& t) noexcept override;
  void cancel_all() noexcept override;
  asio_error_code shutdown_send() noexcept override;
  void close(bool resets) noexcept override;
  [[nodiscard]] bool is_open() const noexcept override { return number_of_socket() >= 0; }
  [[nodiscard]] endpoint peer() const override;
  [[nodiscard]] endpoint local() const override;
  [[nodiscard]] connection_status status() const noexcept override;
  asio_error_code set_option(int level, int name, const void* value,
                             std::size_t size) noexcept override;
  asio_error_code get_option(int level, int name, void* value,
                             std::size_t& size) const noexcept override;
  [[nodiscard]] bool try_transfer(network_transfer& t) noexcept override;

 private:
  void keep_peer(const socket_address& a) noexcept;

  // The peer is kept, because the kernel forgets it at a reset. The path of a Unix socket is not.
  union {
    sockaddr base;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } peer_{};
  int descriptor_ = -1;  // unattached
  std::optional<stream_socket> socket_;
};

}  // namespace LEAT::detail
