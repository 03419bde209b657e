#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "leat/base/asio.hpp"

namespace LEAT_NAMESPACE_OF_ASIO::ip {
class address;
template <class InternetProtocol>
class basic_endpoint;
}  // namespace LEAT_NAMESPACE_OF_ASIO::ip

namespace LEAT {

/// Where a program listens or connects: a host name or an IP address with a port, or the path of a
/// Unix socket.
///
/// | string | meaning |
/// |---|---|
/// | `db:5432` | a name, which connect() and listen() resolve |
/// | `10.0.0.7:80`, `[::1]:80` | an IP address |
/// | `*:80` | all addresses of this machine, IPv4 and IPv6; only to listen |
/// | `unix:/run/jobs.sock` | a Unix socket |
/// | `unix:@jobs` | a Unix socket in the abstract namespace, which has no file |
///
/// Port 0 lets listen() choose a free port.
///
/// Thread safety: thread-compatible.
class endpoint {
 public:
  /// Creates an empty endpoint, like that of a peer without an address.
  endpoint() noexcept = default;
  /// Parses a string such as "db:5432". Errors: invalid_argument, with the string; std::bad_alloc.
  endpoint(std::string_view text);
  /// Parses a string.
  endpoint(const std::string& text) : endpoint(std::string_view(text)) {}
  /// Parses a string.
  endpoint(const char* text) : endpoint(std::string_view(text)) {}
  /// A name or an address, without brackets, and a port. The result is never a Unix socket, so use
  /// this constructor for a host that a peer has sent. Errors: as above.
  endpoint(std::string_view host, std::uint16_t port);
  /// Converts an address of Asio. Errors: std::bad_alloc.
  endpoint(const asio::ip::address& a, std::uint16_t port);
  /// Converts an endpoint of Asio. Errors: std::bad_alloc.
  template <class Protocol>
  explicit endpoint(const asio::ip::basic_endpoint<Protocol>& e)
      : endpoint(e.address(), e.port()) {}

  /// Returns the string from which an equal endpoint can be constructed; "-" if it is empty.
  /// Errors: std::bad_alloc.
  [[nodiscard]] std::string text() const;

  /// Returns the name or the address, without brackets: "*" for all addresses. Empty for a Unix
  /// socket.
  [[nodiscard]] std::string_view host() const noexcept {
    return is_unix() ? "" : std::string_view(name_);
  }
  /// Returns the port, or 0 for a Unix socket.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  /// Returns the path of a Unix socket, or `@name` in the abstract namespace.
  [[nodiscard]] std::string_view path() const noexcept {
    return is_unix() ? std::string_view(name_) : "";
  }
  /// Returns the address. A call needs <asio/ip/address.hpp>, which leat/net/connection.hpp
  /// includes. Errors: failed_precondition, if is_address() is false.
  [[nodiscard]] asio::ip::address address() const;

  /// Returns true if it is not empty.
  [[nodiscard]] explicit operator bool() const noexcept { return kind_ != kind::none; }
  /// Returns true for a name, which has to be resolved.
  [[nodiscard]] bool is_name() const noexcept { return kind_ == kind::name; }
  /// Returns true for a Unix socket.
  [[nodiscard]] bool is_unix() const noexcept { return kind_ == kind::unix_path; }
  /// Returns true for an IP address. A name such as "127.1", which the resolver also takes for an
  /// address, is a name: to filter addresses, look at the result of resolve() or at a peer.
  [[nodiscard]] bool is_address() const noexcept {
    return kind_ == kind::ipv4 || kind_ == kind::ipv6;
  }
  /// Returns true for an IPv6 address.
  [[nodiscard]] bool is_ipv6() const noexcept { return kind_ == kind::ipv6; }
  /// Returns true for `*`.
  [[nodiscard]] bool is_any() const noexcept { return kind_ == kind::any; }

  /// Compares them. A name and its address are not equal.
  friend bool operator==(const endpoint&, const endpoint&) = default;
  /// An order for containers.
  friend std::strong_ordering operator<=>(const endpoint&, const endpoint&) = default;

 private:
  enum class kind : std::uint8_t { none, name, ipv4, ipv6, any, unix_path };

  void set_host(std::string_view host, std::string_view text);

  std::string name_;
  std::uint16_t port_ = 0;
  kind kind_ = kind::none;
};

}  // namespace LEAT

/// For unordered containers.
template <>
struct std::hash<leat::endpoint> {
  /// Returns the hash.
  std::size_t operator()(const leat::endpoint& e) const noexcept {
    return std::hash<std::string_view>()(e.is_unix() ? e.path() : e.host()) * 31 + e.port();
  }
};
