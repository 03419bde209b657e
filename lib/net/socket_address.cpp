#include "net/socket_address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <cstring>
#include <net/if.h>
#include <string>

#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

std::uint32_t zone_number(const std::string& zone, const endpoint& e) {
  if (const unsigned index = ::if_nametoindex(zone.c_str())) return index;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(zone.data(), zone.data() + zone.size(), number);
  if (error == std::errc() && end == zone.data() + zone.size()) return number;
  throw failure(
      errc::invalid_argument,
      "endpoint '" + e.text() + "': this machine has no network interface '" + zone + "'");
}

std::string zone_name(std::uint32_t index) {
  std::array<char, IF_NAMESIZE> name{};
  if (::if_indextoname(index, name.data())) return name.data();
  return std::to_string(index);
}

}  // namespace

socket_address::socket_address(const endpoint& e) : any{} {
  if (!e) throw failure(errc::invalid_argument, "endpoint '-': it is empty");
  if (e.is_unix()) {
    const std::string_view path = e.path();
    local.sun_family = AF_UNIX;
    std::ranges::copy(path, local.sun_path);
    const bool is_abstract = path.starts_with('@');
    if (is_abstract) local.sun_path[0] = '\0';
    // The size ends a name that is not in the file system; a path ends with a zero byte.
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() +
                                  (is_abstract ? 0 : 1));
    return;
  }
  const std::string host(e.host());
  if (e.is_ipv6() || e.is_any()) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(e.port());
    size = sizeof v6;
    if (e.is_any()) return;  // the address is 0
    const auto zone = host.find('%');
    if (zone != host.npos) v6.sin6_scope_id = zone_number(host.substr(zone + 1), e);
    ::inet_pton(AF_INET6, host.substr(0, zone).c_str(), &v6.sin6_addr);
    return;
  }
  v4.sin_family = AF_INET;
  v4.sin_port = htons(e.port());
  size = sizeof v4;
  ::inet_pton(AF_INET, host.c_str(), &v4.sin_addr);
}

endpoint socket_address::to_endpoint() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  switch (family()) {
    case AF_INET:
      ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
      return {text.data(), ntohs(v4.sin_port)};
    case AF_INET6: {
      if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        ::inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text.data(), text.size());
        return {text.data(), ntohs(v6.sin6_port)};
      }
      ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
      std::string host = text.data();
      if (v6.sin6_scope_id != 0) host += '%' + zone_name(v6.sin6_scope_id);
      return {host, ntohs(v6.sin6_port)};
    }
    case AF_UNIX: {
      constexpr std::size_t before = offsetof(sockaddr_un, sun_path);
      if (size <= before) return {};
      std::string path(local.sun_path, size - before);
      if (path.front() == '\0') {
        path.front() = '@';
      } else {
        path.resize(std::strlen(path.c_str()));
        if (path.starts_with('@')) path.insert(0, "./");
      }
      const bool has_text =
          path.size() < sizeof local.sun_path && path != "@" && path.find('\0') == path.npos;
      return has_text ? endpoint("unix:" + path) : endpoint();
    }
    default: return {};
  }
}

}  // namespace LEAT::detail
