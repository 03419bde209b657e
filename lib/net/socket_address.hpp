#pragma once

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "leat/base/asio.hpp"
#include "leat/net/endpoint.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::detail {

/// The error of the last system call, which is equal to a value of asio::error.
[[nodiscard]] inline asio_error_code last_error() noexcept {
  return {errno, asio::error::get_system_category()};
}

/// The value for SO_SNDBUF and SO_RCVBUF, which the kernel doubles.
[[nodiscard]] inline int kernel_buffer_size(std::size_t bytes) noexcept {
  return static_cast<int>(std::clamp<std::size_t>(bytes / 2, 1, INT_MAX / 2));
}

/// An address for the calls of the kernel.
struct socket_address {
  union {
    sockaddr base;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_un local;
    sockaddr_storage any;
  };
  socklen_t size = sizeof any;

  socket_address() noexcept : any{} {}
  /// Converts an address, `*` (as IPv6) or a path. Precondition: it is not a name.
  /// Errors: invalid_argument, for an unknown zone of an IPv6 address.
  explicit socket_address(const endpoint& e);

  [[nodiscard]] int family() const noexcept { return any.ss_family; }
  /// Converts it back. An IPv4 address in IPv6 becomes IPv4. Empty for a socket without a path, and
  /// for a path that has no text, with a zero byte in it. Errors: std::bad_alloc.
  [[nodiscard]] endpoint to_endpoint() const;
};

}  // namespace LEAT::detail
