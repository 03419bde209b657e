#include "leat/net/endpoint.hpp"

#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"

#include LEAT_ASIO(ip/address.hpp)

namespace LEAT {
namespace {

constexpr std::string_view unix_prefix = "unix:";

// The text may come from a peer, so control characters are shown as \x0A.
std::string printable(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7f) {
      shown += c;
    } else {
      shown += {'\\', 'x', digits[byte / 16], digits[byte % 16]};
    }
  }
  return shown;
}

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw failure(errc::invalid_argument, "endpoint '" + printable(text) + "': " + std::string(why));
}

// The address in its shortest form, or an empty string.
std::string to_ipv6(std::string_view host) {
  const auto zone = host.find('%');
  const std::string address(host.substr(0, zone));
  in6_addr bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET6, &bytes, text.data(), text.size());
  std::string result(text.data());
  if (zone != host.npos) result += host.substr(zone);
  return result;
}

std::uint16_t parse_port(std::string_view digits, std::string_view text) {
  unsigned port = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, port);
  if (digits.empty() || rest != end || error != std::errc()) {
    refuse(text, "the port is not a number");
  }
  if (port > 65535) refuse(text, "the port is above 65535");
  return static_cast<std::uint16_t>(port);
}

}  // namespace

endpoint::endpoint(std::string_view text) {
  if (text.starts_with(unix_prefix)) {
    const std::string_view path = text.substr(unix_prefix.size());
    if (path.empty() || path == "@") refuse(text, "the path is missing");
    if (path.size() >= sizeof(sockaddr_un::sun_path)) {
      refuse(text, "the path of a Unix socket has at most " +
                       std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes");
    }
    if (path.find('\0') != path.npos) refuse(text, "the path contains a zero byte");
    name_ = path;
    kind_ = kind::unix_path;
    return;
  }
  const auto colon = text.rfind(':');
  if (colon == text.npos) refuse(text, "the port is missing: write host:port");
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) refuse(text, "the port is missing after ']': write [address]:port");
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == host.npos) refuse(text, "brackets are for IPv6 addresses");
  } else if (host.find(':') != host.npos) {
    refuse(text, "write an IPv6 address in brackets: [address]:port");
  }
  port_ = parse_port(text.substr(colon + 1), text);
  set_host(host, text);
}

endpoint::endpoint(std::string_view host, std::uint16_t port) : port_(port) {
  set_host(host, host);
}

endpoint::endpoint(const asio::ip::address& a, std::uint16_t port)
    : endpoint(a.to_string(), port) {}

asio::ip::address endpoint::address() const {
  if (!is_address()) {
    throw failure(errc::failed_precondition,
                  "endpoint '" + printable(text()) + "': it is no address: resolve() it");
  }
  return asio::ip::make_address(name_);
}

void endpoint::set_host(std::string_view host, std::string_view text) {
  if (host.empty()) refuse(text, "the host is missing; to listen at all addresses, it is *");
  if (host == "*") {
    kind_ = kind::any;
    name_ = host;
    return;
  }
  if (host.find(':') != host.npos) {
    name_ = to_ipv6(host);
    if (name_.empty()) refuse(text, "'" + printable(host) + "' is not an IPv6 address");
    kind_ = kind::ipv6;
    return;
  }
  for (const char c : host) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '[' || c == ']' || c == '/' || c == '\x7f') {
      refuse(text, "the host contains a space, a bracket, a slash or a control character");
    }
  }
  name_ = host;
  in_addr bytes{};
  kind_ = ::inet_pton(AF_INET, name_.c_str(), &bytes) == 1 ? kind::ipv4 : kind::name;
}

std::string endpoint::text() const {
  if (kind_ == kind::none) return "-";
  if (is_unix()) return std::string(unix_prefix) + name_;
  const std::string host = is_ipv6() ? '[' + name_ + ']' : name_;
  return host + ':' + std::to_string(port_);
}

}  // namespace LEAT
