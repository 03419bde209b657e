#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <system_error>

#include "leat/net/network_backend.hpp"
#include "net/socket_address.hpp"

namespace LEAT::detail {

/// A connection of the kernel. Once it is attached, a socket of Asio performs its transfers.
class asio_stream final : public network_stream {
 public:
  /// Takes a connected socket, whose peer is known or is asked for.
  explicit asio_stream(int descriptor) noexcept : descriptor_(descriptor) {}
  asio_stream(int descriptor, const socket_address& peer) noexcept : descriptor_(descriptor) {
    keep_peer(peer);
  }
  ~asio_stream() override;

  static void* operator new(std::size_t size);
  static void operator delete(void* p, std::size_t size) noexcept;

  /// Checks a descriptor from elsewhere, and finds its peer. Errors: invalid_argument; system
  /// errors.
  void check_adopted();
  /// Sets the options. Returns the error.
  asio_error_code apply(const connection_options& options) noexcept;
  /// The descriptor, whether it is attached or not; -1 after close().
  [[nodiscard]] int descriptor() const noexcept;

  void attach(scheduler& on) override;
  void start(network_transfer& t) noexcept override;
  void cancel(network_transfer& t) noexcept override;
  void cancel_all() noexcept override;
  asio_error_code shutdown_send() noexcept override;
  void close(bool resets) noexcept override;
  [[nodiscard]] bool is_open() const noexcept override { return descriptor() >= 0; }
  [[nodiscard]] endpoint peer() const override;
  [[nodiscard]] endpoint local() const override;
  [[nodiscard]] connection_status status() const noexcept override;
  asio_error_code set_option(int level, int name, const void* value,
                             std::size_t size) noexcept override;
  asio_error_code get_option(int level, int name, void* value,
                             std::size_t& size) const noexcept override;
  [[nodiscard]] bool try_read(std::span<const transfer_buffer> buffers, std::size_t& bytes,
                              asio_error_code& error) noexcept override;

 private:
  void keep_peer(const socket_address& a) noexcept;

  // The peer is kept, because the kernel forgets it at a reset. The path of a Unix socket is not.
  union {
    sockaddr base;
    sockaddr_in v4;
    sockaddr_in6 v6;
  } peer_{};
  int descriptor_;  // unattached; -1 otherwise
  std::optional<stream_socket> socket_;
};

}  // namespace LEAT::detail
