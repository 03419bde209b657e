// The options of a socket that have an effect in a simulated network.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "leat/base/asio.hpp"
#include "sim/network/stream_end.hpp"
#include "sim/network/times.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {
namespace {

asio_error_code unsupported() noexcept { return asio::error::operation_not_supported; }

std::size_t limited(std::size_t bytes) noexcept {
  return std::clamp(bytes, smallest_buffer, largest_buffer);
}

}  // namespace

void stream_end::apply(const connection_options& o) noexcept {
  if (o.send_buffer > 0) send_buffer_ = limited(o.send_buffer);
  if (o.receive_buffer > 0) receive_buffer_ = limited(o.receive_buffer);
  no_delay_ = o.no_delay || is_unix();
  keeps_alive_ = o.keep_alive_probes.has_value() && !is_unix();
  if (keeps_alive_) probes_ = *o.keep_alive_probes;
  user_timeout_ = o.user_timeout;
  if (keeps_alive_) path_changed(false);
}

asio_error_code stream_end::set_option(int level, int name, const void* value,
                                       std::size_t size) noexcept {
  if (level == SOL_SOCKET && name == SO_LINGER && size == sizeof(linger)) {
    linger wanted{};
    std::memcpy(&wanted, value, sizeof wanted);
    if (wanted.l_onoff != 0 && wanted.l_linger != 0) return unsupported();
    resets_on_close_ = wanted.l_onoff != 0;
    return {};
  }
  int number = 0;
  if (size != sizeof number) return unsupported();
  std::memcpy(&number, value, sizeof number);
  const std::size_t bytes = limited(2 * static_cast<std::size_t>(std::max(number, 1)));
  if (level == SOL_SOCKET) {
    switch (name) {
      case SO_SNDBUF:
        send_buffer_ = bytes;
        serve_writes();
        if (!is_unix()) plan();
        return {};
      case SO_RCVBUF:
        receive_buffer_ = bytes;
        tell_window();
        return {};
      case SO_KEEPALIVE:
        keeps_alive_ = number != 0;
        path_changed(false);
        return {};
      default: return unsupported();
    }
  }
  if (level != IPPROTO_TCP || is_unix()) return unsupported();
  switch (name) {
    case TCP_NODELAY:
      no_delay_ = number != 0;
      send(duration::zero());
      return {};
    case TCP_KEEPIDLE: probes_.idle = std::chrono::seconds(number); break;
    case TCP_KEEPINTVL: probes_.interval = std::chrono::seconds(number); break;
    case TCP_KEEPCNT: probes_.probes = number; break;
    case TCP_USER_TIMEOUT: user_timeout_ = std::chrono::milliseconds(number); return {};
    default: return unsupported();
  }
  path_changed(false);
  return {};
}

asio_error_code stream_end::get_option(int level, int name, void* value,
                                       std::size_t& size) const noexcept {
  if (level == SOL_SOCKET && name == SO_LINGER && size >= sizeof(linger)) {
    const linger now{resets_on_close_ ? 1 : 0, 0};
    std::memcpy(value, &now, sizeof now);
    size = sizeof now;
    return {};
  }
  int number = 0;
  if (size < sizeof number) return unsupported();
  const auto in_seconds = [](time_span t) {
    return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(t).count());
  };
  if (level == SOL_SOCKET) {
    switch (name) {
      case SO_SNDBUF: number = static_cast<int>(send_buffer_); break;
      case SO_RCVBUF: number = static_cast<int>(receive_buffer_); break;
      case SO_KEEPALIVE: number = keeps_alive_ ? 1 : 0; break;
      default: return unsupported();
    }
  } else if (level == IPPROTO_TCP && !is_unix()) {
    switch (name) {
      case TCP_NODELAY: number = no_delay_ ? 1 : 0; break;
      case TCP_KEEPIDLE: number = in_seconds(probes_.idle); break;
      case TCP_KEEPINTVL: number = in_seconds(probes_.interval); break;
      case TCP_KEEPCNT: number = probes_.probes; break;
      case TCP_USER_TIMEOUT:
        number = static_cast<int>(user_timeout_ / std::chrono::milliseconds(1));
        break;
      default: return unsupported();
    }
  } else {
    return unsupported();
  }
  std::memcpy(value, &number, sizeof number);
  size = sizeof number;
  return {};
}

}  // namespace LEAT::sim
