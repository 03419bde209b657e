#pragma once

#include <cerrno>
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
  /// Converts it back. An IPv4 address in IPv6 becomes IPv4; a socket without a path, an empty
  /// endpoint. Errors: std::bad_alloc.
  [[nodiscard]] endpoint to_endpoint() const;
};

}  // namespace LEAT::detail
